"""A pointer of Git LFS, and a link that leads nowhere, are named as what they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckptbench import CkptbenchError
from ckptbench.fixtures.checkpoints.adapter_folder import adapter_weights
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.checkpoints.tokenizers import load_tokenizer, tokenizer_folder
from ckptbench.fixtures.checkpoints.torch_file import read_torch_file
from ckptbench.fixtures.checkpoints.transformers_io import read_config
from ckptbench.fixtures.checkpoints.weight_files import check_weight_files, weight_files

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 123456\n"
READ: dict[str, Callable[[Path], object]] = {
    "model.safetensors": lambda file: check_weight_files(weight_files(file.parent)),
    "pytorch_model.bin": lambda file: check_weight_files(weight_files(file.parent)),
    "model.safetensors.index.json": lambda file: weight_files(file.parent),
    "adapter_model.safetensors": lambda file: adapter_weights(file.parent),
    "tokenizer.json": lambda file: load_tokenizer(tokenizer_folder(file.parent)[0]),
}
REFUSED_AS_LINKS = {**READ, "x.pt": lambda file: resolve(str(file))}
REFUSED_AS_POINTERS = {
    **READ,
    "x.pt": read_torch_file,
    "config.json": lambda file: read_config(file.parent),
}


@pytest.mark.parametrize("name", REFUSED_AS_POINTERS)
def test_a_pointer_of_git_lfs_names_the_command_that_fetches_the_file(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_text(POINTER)
    with pytest.raises(CkptbenchError, match="is a pointer of Git LFS") as caught:
        REFUSED_AS_POINTERS[name](file)
    assert caught.value.where == str(file)
    assert "git lfs pull" in caught.value.remedy


@pytest.mark.parametrize("leads_to", ["/nowhere/blob", "itself"])
@pytest.mark.parametrize("name", REFUSED_AS_LINKS)
def test_a_link_that_leads_nowhere_is_named_with_what_it_leads_to(
    tmp_path: Path, name: str, leads_to: str
) -> None:
    link = tmp_path / name
    link.symlink_to(name if leads_to == "itself" else leads_to)
    with pytest.raises(CkptbenchError, match="is a link to") as caught:
        REFUSED_AS_LINKS[name](link)
    assert caught.value.where == str(link)
    assert (name if leads_to == "itself" else leads_to) in caught.value.what


def test_a_folder_whose_configuration_is_a_link_to_nowhere_is_refused_for_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.json").symlink_to("/nowhere/config.json")
    with pytest.raises(CkptbenchError, match=r"is a link to /nowhere/config\.json"):
        resolve(str(tmp_path))
