"""An adapter changes the answers of its base, and leaves the base as it was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.api.requests import FillMask, Generate, LogLikelihood, Response
from ckptbench.fixtures.checkpoints.cache import Models
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine
from ckptbench.fixtures.engines.causal.generation import Generation, GenerationBudget
from ckptbench.fixtures.engines.causal.slots import slot_forward
from ckptbench.fixtures.engines.masked.engine import MaskedLMEngine

pytestmark = pytest.mark.skipif(find_spec("peft") is None, reason="peft is not installed")

CODE = resolve("demo-code").path
MLM = resolve("demo-mlm").path
ASKED = (
    Generate("def add(a, b):\n", max_tokens=12),
    LogLikelihood("def add(a, b):\n", "    return a + b\n"),
    LogLikelihood("def is_even(n):\n", "    return n % 2 == 0\n"),
)
FILLED = (FillMask("서울은 대한민국의 수도이다.", (4, 9), "대한민국의"),)
Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def base_model(folder: Path) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    auto: Any = AutoModelForMaskedLM if folder == MLM else AutoModelForCausalLM
    return auto.from_pretrained(folder, dtype=torch.float32)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes an adapter with peft: `make("name", base=MLM, added=8, zero=True)`."""

    def made(
        name: str = "lora", *, base: Path = CODE, added: int = 0, seed: int = 0, zero: bool = False
    ) -> Path:
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoTokenizer

        torch.manual_seed(seed)
        model = base_model(base)
        folder = tmp_path / name
        saved: dict[str, Any] = {}
        if added:
            tokenizer = AutoTokenizer.from_pretrained(base)
            tokenizer.add_tokens([f"<new{place}>" for place in range(added)])
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
            tokenizer.save_pretrained(folder)
            saved["modules_to_save"] = ["embed_tokens", "lm_head"]
        targets = ["query", "value"] if base == MLM else ["q_proj", "v_proj"]
        if base == MLM and not any("query" in n for n, _ in model.named_modules()):
            targets = "all-linear"  # type: ignore[assignment]
        config = LoraConfig(r=4, target_modules=targets, init_lora_weights=zero, **saved)
        adapted = get_peft_model(model, config)
        if not zero:
            for parameter_name, parameter in adapted.named_parameters():
                if "lora_" in parameter_name:
                    torch.nn.init.normal_(parameter.data, std=0.2)
        adapted.save_pretrained(folder)
        return folder

    return made


def answers(loaded: Any, asked: Sequence[Any] = ASKED) -> list[Response]:
    masked = isinstance(asked[0], FillMask)
    engine: Any = MaskedLMEngine(loaded) if masked else CausalLMEngine(loaded)
    found = dict(engine.answer(asked))
    return [found[index] for index in range(len(asked))]


def answers_of(models: Models, spec: str, asked: Sequence[Any] = ASKED) -> list[Response]:
    with models.loaded(resolve(spec), None) as loaded:
        return answers(loaded, asked)


def on_gpu(dtype: str) -> Any:
    import torch

    missing = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
    return pytest.param("cuda", dtype, marks=(pytest.mark.gpu, missing))


GPU = [on_gpu("fp32"), on_gpu("bf16"), on_gpu("fp16")]


@pytest.mark.parametrize(("device", "dtype"), [("cpu", "fp32"), *GPU])
def test_an_adapter_changes_the_answers_and_the_base_stays_as_it_was(
    make: Make, device: str, dtype: str
) -> None:
    import torch

    models = Models(device=device, dtype=dtype)
    specs = ["demo-code", f"demo-code+adapter={make()}", f"demo-code+adapter={make('b', seed=1)}"]
    specs += [f"demo-code+adapter={make('c', added=8)}", "demo-code"]
    found = [resolve(spec) for spec in specs]
    given, weights, of = [], [], set()
    for checkpoint, following in zip(found, [*found[1:], None], strict=True):
        with models.loaded(checkpoint, following) as loaded:
            of.add(id(loaded.model))
            given.append(answers(loaded))
            if checkpoint.kind.name != "adapter":
                state = {n: w.clone() for n, w in loaded.model.state_dict().items()}
                weights.append((loaded.fingerprint, state))
    assert len(of) == 1, "the base is loaded once"
    plain, first, second, grown, again = given
    assert len({repr(answer) for answer in (plain, first, second, grown)}) == 4
    assert again == plain
    (before, before_state), (after, after_state) = weights
    assert before == after
    assert before_state.keys() == after_state.keys()
    assert all(torch.equal(before_state[name], after_state[name]) for name in before_state)


@pytest.mark.parametrize(("device", "dtype"), GPU)
def test_on_a_gpu_the_answers_are_the_processors(make: Make, device: str, dtype: str) -> None:
    """In half precision as near as its digits allow: 8 of bf16, 11 of fp16."""
    spec = f"demo-code+adapter={make()}"
    here = answers_of(Models(device="cpu", dtype="fp32"), spec)
    there = answers_of(Models(device=device, dtype=dtype), spec)
    near = {"fp32": 1e-3, "fp16": 0.1, "bf16": 0.8}[dtype]
    assert dtype == "bf16" or there[0] == here[0]
    for one, other in zip(there[1:], here[1:], strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=near)  # type: ignore[union-attr]


def test_in_slots_the_texts_are_the_same(make: Make) -> None:
    """A GPU generates in slots, in half precision."""
    asked = [
        Generate(f"def {name}(n):\n", max_tokens=20, temperature=temperature, seed=seed)
        for name in ("add", "is_even", "last")
        for seed, temperature in enumerate((0.0, 0.8, 0.8))
    ]
    models = Models(device="cpu", dtype="fp32")
    with models.loaded(resolve(f"demo-code+adapter={make()}"), None) as loaded:
        engine = CausalLMEngine(loaded)
        wanted = dict(engine.answer(asked))
        forward = engine._generation._forward
        slots = slot_forward(forward)
        assert slots is not None
        budget = GenerationBudget(tokens=10**6, prompt_tokens=10**6, rows=4)
        engine._generation = Generation(forward, engine._text, budget, 0.0, slots)
        assert dict(engine.answer(asked)) == wanted


def test_merged_it_gives_the_same_answers(make: Make, tmp_path: Path) -> None:
    from peft import PeftModel

    adapter = make()
    merged = tmp_path / "merged"
    PeftModel.from_pretrained(base_model(CODE), str(adapter)).merge_and_unload().save_pretrained(
        merged
    )
    for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(CODE / file, merged / file)
    models = Models(device="cpu", dtype="fp32")
    apart = answers_of(models, f"demo-code+adapter={adapter}")
    whole = answers_of(models, str(merged))
    assert apart[0] == whole[0]
    for one, other in zip(apart[1:], whole[1:], strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-3)  # type: ignore[union-attr]
        assert one.greedy == other.greedy  # type: ignore[union-attr]


def test_eight_added_tokens_are_loaded_as_peft_loads_them(make: Make) -> None:
    import torch
    from peft import PeftModel

    adapter = make(added=8)
    theirs = base_model(CODE)
    rows = theirs.get_input_embeddings().weight.shape[0]
    theirs.resize_token_embeddings(rows + 8, mean_resizing=False)
    peft = PeftModel.from_pretrained(theirs, str(adapter)).eval()
    ids = torch.arange(rows - 8, rows + 8)[None]
    models = Models(device="cpu", dtype="fp32")
    checkpoint = resolve(f"demo-code+adapter={adapter}")
    with models.loaded(checkpoint, None) as loaded, torch.inference_mode():
        assert "<new7>" in loaded.tokenizer.get_vocab()
        assert "vocabulary grown to 648" in " ".join(loaded.notes)
        ours: Any = loaded.model
        assert torch.equal(ours(input_ids=ids).logits, peft(input_ids=ids).logits)


def test_tokens_trained_as_rows_of_their_own_are_loaded(tmp_path: Path) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoTokenizer

    model = base_model(CODE)
    tokenizer = AutoTokenizer.from_pretrained(CODE)
    tokenizer.add_tokens([f"<new{place}>" for place in range(8)])
    tokenizer.save_pretrained(tmp_path / "rows")
    rows = model.get_input_embeddings().weight.shape[0]
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    config = LoraConfig(
        r=2, target_modules=["q_proj"], trainable_token_indices=list(range(rows, rows + 8))
    )
    config.init_lora_weights = False
    torch.manual_seed(0)
    adapted = get_peft_model(model, config)
    adapted.save_pretrained(tmp_path / "rows")
    ids = torch.arange(rows - 8, rows + 8)[None]
    models = Models(device="cpu", dtype="fp32")
    checkpoint = resolve(f"demo-code+adapter={tmp_path / 'rows'}")
    with models.loaded(checkpoint, None) as loaded, torch.inference_mode():
        ours: Any = loaded.model
        theirs = adapted.eval()(input_ids=ids).logits
        assert torch.allclose(ours(input_ids=ids).logits, theirs, atol=1e-5)


@pytest.mark.parametrize("base", ["demo-code", "demo-mlm"])
def test_an_adapter_without_effect_is_refused(make: Make, base: str) -> None:
    adapter = make("zero", base=resolve(base).path, zero=True)
    models = Models(device="cpu", dtype="fp32")
    with pytest.raises(CkptbenchError, match="the adapter had no effect"):
        answers_of(models, f"{base}+adapter={adapter}")


def test_an_adapter_of_a_masked_model_changes_its_answers(make: Make) -> None:
    adapter = make(base=MLM)
    spec = f"demo-mlm+adapter={adapter}"
    assert resolve(spec).model_kind == "masked"
    models = Models(device="cpu", dtype="fp32")
    plain = answers_of(models, "demo-mlm", FILLED)
    assert answers_of(models, spec, FILLED) != plain
    assert answers_of(models, "demo-mlm", FILLED) == plain


def test_the_adapters_folder_alone_finds_its_base(make: Make) -> None:
    adapter = make()
    models = Models(device="cpu", dtype="fp32")
    assert resolve(str(adapter)).kind.name == "adapter"
    assert answers_of(models, str(adapter)) == answers_of(models, f"demo-code+adapter={adapter}")


def test_the_fingerprint_is_of_the_base_and_of_the_adapter(make: Make, tmp_path: Path) -> None:
    one, other = make("one"), make("other", seed=1)
    moved = Path(shutil.copytree(one, tmp_path / "moved"))
    config = json.loads((moved / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "elsewhere/base"
    (moved / "adapter_config.json").write_text(json.dumps(config))
    models = Models(device="cpu", dtype="fp32")
    prints = []
    for spec in ("demo-code", *(f"demo-code+adapter={a}" for a in (one, other, moved))):
        with models.loaded(resolve(spec), None) as loaded:
            prints.append(loaded.fingerprint)
    assert len(set(prints[:3])) == 3
    assert prints[3] == prints[1]
    assert all(len(found) == 64 for found in prints)


# What cannot be used


def edit(folder: Path, **changes: Any) -> None:
    file = folder / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def refused(spec: str) -> str:
    with pytest.raises(CkptbenchError) as caught:
        answers_of(Models(device="cpu", dtype="fp32"), spec)
    return str(caught.value)


def test_a_base_that_is_not_here_has_to_be_named(make: Make) -> None:
    adapter = make()
    edit(adapter, base_model_name_or_path="someone/their-model")
    told = refused(str(adapter))
    assert "someone/their-model" in told
    assert f"BASE+adapter={adapter}" in told


@pytest.mark.parametrize("spec", ["+adapter=x", "demo-code+adapter=", "demo-code+adapter=nowhere"])
def test_half_a_spec_is_refused(spec: str) -> None:
    assert "adapter" in refused(spec)


def test_an_adapter_of_another_base_is_refused(make: Make) -> None:
    adapter = make(base=MLM)
    assert "the adapter" in refused(f"demo-code+adapter={adapter}")


def test_an_adapter_on_an_adapter_is_refused(make: Make) -> None:
    told = refused(f"{make('one')}+adapter={make('other', seed=1)}")
    assert "is an adapter, not a model" in told


def test_learned_prompts_are_refused(make: Make) -> None:
    adapter = make()
    edit(adapter, peft_type="PREFIX_TUNING")
    assert "learned tokens before each text" in refused(f"demo-code+adapter={adapter}")


def test_an_adapter_that_was_cut_short_is_refused(make: Make) -> None:
    from safetensors.torch import load_file, save_file

    adapter = make()
    file = adapter / "adapter_model.safetensors"
    weights = load_file(file)
    save_file(dict(list(weights.items())[1:]), file)
    assert "lacks 1 weights" in refused(f"demo-code+adapter={adapter}")
    file.write_bytes(file.read_bytes()[:-40])
    assert "bytes" in refused(f"demo-code+adapter={adapter}")
    file.unlink()
    assert "no weights of the adapter" in refused(f"demo-code+adapter={adapter}")


def test_an_embedding_is_never_shrunk(make: Make) -> None:
    from safetensors.torch import load_file, save_file

    adapter = make(added=8)
    file = adapter / "adapter_model.safetensors"
    weights = load_file(file)
    save_file({n: w[:600] if w.shape[0] == 648 else w for n, w in weights.items()}, file)
    assert "the adapter's embedding has 600 rows, the base's 640" in refused(
        f"demo-code+adapter={adapter}"
    )
    with Models(device="cpu", dtype="fp32").loaded(resolve("demo-code"), None) as loaded:
        assert loaded.model.config.vocab_size == 640


def test_after_a_refusal_the_base_answers_as_before(make: Make) -> None:
    models = Models(device="cpu", dtype="fp32")
    plain = answers_of(models, "demo-code")
    zero = resolve(f"demo-code+adapter={make('zero', zero=True)}")
    with models.loaded(resolve("demo-code"), zero):
        pass
    with pytest.raises(CkptbenchError), models.loaded(zero, resolve("demo-code")):
        pass
    assert answers_of(models, "demo-code") == plain
