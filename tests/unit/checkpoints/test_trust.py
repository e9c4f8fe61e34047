"""Code beside weights runs for the one folder that is named, and for none else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench import Checkpoint, CkptbenchError, LoadOptions
from ckptbench.fixtures.checkpoints.fingerprint import fingerprint
from ckptbench.fixtures.checkpoints.huggingface import HUGGING_FACE, load_masked_lm
from ckptbench.fixtures.checkpoints.trust import check_trusted, trusted_folder

MODELING = """
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM

(Path({ran!r})).touch()


class OwnConfig(BertConfig):
    model_type = "own-bert"


class OwnForMaskedLM(BertForMaskedLM):
    config_class = OwnConfig
"""


@pytest.fixture
def own(save: Callable[..., Path], tmp_path: Path) -> Path:
    """A checkpoint whose architecture is a file beside its weights, which leaves a file `ran`."""
    folder = save()
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "own-bert",
        "architectures": ["OwnForMaskedLM"],
        "auto_map": {
            "AutoConfig": "modeling_own.OwnConfig",
            "AutoModelForMaskedLM": "modeling_own.OwnForMaskedLM",
        },
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling_own.py").write_text(MODELING.format(ran=str(tmp_path / "ran")))
    return folder


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers copies code there, and imports the copy."""
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))


def load(folder: Path, **options: Any) -> Any:
    found = Checkpoint(str(folder), folder, HUGGING_FACE)
    return load_masked_lm(found, LoadOptions(device="cpu", dtype="fp32", **options))


def test_code_runs_where_its_folder_is_named_and_the_scores_say_so(
    own: Path, tmp_path: Path
) -> None:
    trusted = trusted_folder({"trust_remote_code": str(own)})
    check_trusted(trusted, [str(own)], None)
    assert not (tmp_path / "ran").exists()
    loaded = load(own, trusted=trusted)
    assert (tmp_path / "ran").exists()
    assert loaded.architecture == "OwnForMaskedLM"
    assert f"Python code of {own} was run (--model-args trust_remote_code)" in loaded.notes


def test_it_does_not_run_otherwise_and_the_error_shows_how_it_would(
    own: Path, tmp_path: Path
) -> None:
    with pytest.raises(CkptbenchError) as error:
        load(own)
    assert "its model is Python code in the folder" in error.value.what
    assert f"trust_remote_code={own}" in error.value.remedy
    (tmp_path / "other").mkdir()
    with pytest.raises(CkptbenchError, match="Python code in the folder"):
        load(own, trusted=tmp_path / "other")
    assert not (tmp_path / "ran").exists()


def test_the_code_is_part_of_the_fingerprint_where_it_runs(own: Path) -> None:
    without, trusted = fingerprint(own), fingerprint(own, trusted=own)
    assert load(own, trusted=own).fingerprint == trusted != without
    with (own / "modeling_own.py").open("a") as file:
        file.write("\n# another version\n")
    assert fingerprint(own, trusted=own) != trusted
    assert fingerprint(own) == without


def test_a_folder_that_no_checkpoint_is_in_is_refused(own: Path, tmp_path: Path) -> None:
    with pytest.raises(CkptbenchError, match="is no checkpoint of this session") as error:
        check_trusted(tmp_path, [str(own)], None)
    assert str(own) in error.value.remedy
    with pytest.raises(CkptbenchError, match="no folder, and no model in the hub's cache"):
        trusted_folder({"trust_remote_code": str(tmp_path / "missing")})


def test_the_folder_of_a_tokenizer_may_be_named(own: Path, tmp_path: Path) -> None:
    tokenizer = own.rename(tmp_path / "tokenizer")
    other = tmp_path / "model"
    other.mkdir()
    (other / "config.json").write_text((tokenizer / "config.json").read_text())
    check_trusted(tokenizer, [str(other)], tokenizer)


def test_code_of_another_repository_is_refused(own: Path) -> None:
    config = json.loads((own / "config.json").read_text())
    config["auto_map"]["AutoConfig"] = "somebody/else--modeling_own.OwnConfig"
    (own / "config.json").write_text(json.dumps(config))
    with pytest.raises(CkptbenchError, match="names code of another repository"):
        check_trusted(own, [str(own)], None)


TOKENIZATION = """
from transformers import PreTrainedTokenizerFast


class OwnTokenizer(PreTrainedTokenizerFast):
    is_own = True
"""


def test_a_tokenizers_class_runs_too(own: Path) -> None:
    (own / "tokenization_own.py").write_text(TOKENIZATION)
    file = own / "tokenizer_config.json"
    config = json.loads(file.read_text()) | {
        "tokenizer_class": "OwnTokenizer",
        "auto_map": {"AutoTokenizer": [None, "tokenization_own.OwnTokenizer"]},
    }
    file.write_text(json.dumps(config))
    assert load(own, trusted=own).tokenizer.is_own
