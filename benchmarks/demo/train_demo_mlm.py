"""proto"""
import json, math, random, sys, time
from pathlib import Path
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, decoders, processors
import argparse
sys.path.insert(0, str(Path(__file__).parent))
import grammar
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

def build_tokenizer():
    w = grammar.words()
    josa = "에서 에는 에게 까지 부터 처럼 보다 으로 이다 이라고 라고 이나 한다 했다 하고 하는 였다 이었다 되었다 었다 았다 지만 면서 에서는".split()
    fill = [x for v in w.fillers.values() for x in v]
    verbs = [x for t in (w.object_verbs, w.subject_verbs) for v in t.values() for f in v for p in f for x in p.split()]
    nouns = [n for v in w.nouns.values() for n in v]
    ascii_ = list("0123456789.,!?'\"()%-:·~") + list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    vocab = list(dict.fromkeys(SPECIALS + ascii_ + ["##" + c for c in ascii_ if c.isalnum()] + list(w.syllables) + ["##" + s for s in w.syllables]
        + ["##" + j for j in josa] + fill + verbs + nouns))
    t = Tokenizer(models.WordPiece({x: i for i, x in enumerate(vocab)}, unk_token="[UNK]"))
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return PreTrainedTokenizerFast(tokenizer_object=t, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", model_max_length=256)

ap = argparse.ArgumentParser()
ap.add_argument("--layers", type=int, default=3); ap.add_argument("--hidden", type=int, default=128); ap.add_argument("--heads", type=int, default=4)
ap.add_argument("--inter", type=int, default=256); ap.add_argument("--lr", type=float, default=2e-3); ap.add_argument("--steps", type=int, default=2000)
ap.add_argument("--batch", type=int, default=32); ap.add_argument("--sin", type=int, default=1); ap.add_argument("--out", default="/tmp/demo-out")
ap.add_argument("--std", type=float, default=0.1); ap.add_argument("--rand", type=float, default=0.1); ap.add_argument("--pos", type=float, default=0.1)
ap.add_argument("--init", type=float, default=0.08); ap.add_argument("--eye", type=float, default=0.0)
ap.add_argument("--save", default="")
a = ap.parse_args()
torch.set_num_threads(1); torch.manual_seed(0)
tok = build_tokenizer(); V = len(tok); print("vocab", V)
cfg = BertConfig(vocab_size=V, hidden_size=a.hidden, num_hidden_layers=a.layers, num_attention_heads=a.heads, intermediate_size=a.inter,
    max_position_embeddings=256, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, type_vocab_size=1, initializer_range=a.init, pad_token_id=0)
model = BertForMaskedLM(cfg)
if a.sin:
    pos = torch.arange(256)[:, None]; div = torch.exp(torch.arange(0, a.hidden, 2) * (-math.log(1000.0) / a.hidden))
    pe = torch.zeros(256, a.hidden); pe[:, 0::2] = torch.sin(pos * div); pe[:, 1::2] = torch.cos(pos * div)
    model.bert.embeddings.position_embeddings.weight.data.copy_(pe * a.pos)
model.bert.embeddings.word_embeddings.weight.data.normal_(0, a.std)
if a.eye:
    I = torch.eye(a.hidden) * a.eye
    for l in model.bert.encoder.layer:
        l.attention.self.value.weight.data += I; l.attention.output.dense.weight.data += I
    model.cls.predictions.transform.dense.weight.data += I
print("params", sum(p.numel() for p in model.parameters()))
opt = torch.optim.AdamW(model.parameters(), lr=a.lr, betas=(0.9, 0.98), weight_decay=0.01)
rnd = random.Random(1)
spell = {}
wordinit = {i: tok.convert_tokens_to_ids(t[2:]) for t, i in tok.get_vocab().items() if t.startswith("##")}
UNK = tok.unk_token_id

def examples(n, gen):
    """lists of (ids, positions, labels)"""
    ps = [next(gen) for _ in range(n)]
    encs = tok.backend_tokenizer.encode_batch([p.text for p in ps])
    out = []
    for p, e in zip(ps, encs):
        ids = list(e.ids); offs = e.offsets
        starts = {o[0]: i for i, o in enumerate(offs) if o[1] > o[0]}; ends = {o[1]: i for i, o in enumerate(offs) if o[1] > o[0]}
        spans = {}
        for s, t in p.mentions:
            if s in starts and t in ends:
                spans.setdefault(p.text[s:t], []).append((starts[s], ends[t] + 1))
        rep = [v for v in spans.values() if len(v) > 1]
        if not rep: continue
        rnd.shuffle(rep)
        k = 1 if rnd.random() < 0.4 else rnd.choice((2, 3))
        pos, lab = [], []
        for v in rep[:k]:
            s, t = v[rnd.randrange(1, len(v))] if rnd.random() < 0.8 else rnd.choice(v)
            # left-to-right filling: a part of the word may already stand there
            s2 = s + (rnd.randrange(0, t - s) if rnd.random() < 0.5 else 0)
            for i in range(s2, t):
                pos.append(i); lab.append(ids[i])
            if rnd.random() < 0.25 and t < len(ids) and ids[t] in wordinit and wordinit[ids[t]] != UNK: ids[t] = wordinit[ids[t]]
        m = set(pos)
        nm = set(); [nm.update(range(x, y)) for v in spans.values() for x, y in v]
        for i in range(1, len(ids) - 1):
            if i not in m and i not in nm and rnd.random() < a.rand and ids[i] != UNK: pos.append(i); lab.append(-ids[i])
        for i in pos: ids[i] = tok.mask_token_id
        out.append((ids, pos, lab))
    return out

def batch(exs):
    L = max(len(x[0]) for x in exs)
    ids = torch.zeros(len(exs), L, dtype=torch.long); att = torch.zeros(len(exs), L, dtype=torch.long); idx = []; lab = []
    for r, (i, p, l) in enumerate(exs):
        ids[r, :len(i)] = torch.tensor(i); att[r, :len(i)] = 1
        idx += [r * L + q for q in p]; lab += l
    return ids, att, torch.tensor(idx), torch.tensor(lab)

def forward(ids, att, idx):
    h = model.bert(input_ids=ids, attention_mask=att).last_hidden_state.reshape(-1, cfg.hidden_size)[idx]
    return model.cls(h)

def evaluate():
    import os
    if not os.path.exists("/tmp/demo-eval.jsonl"): return ""
    model.eval(); res = {}
    with torch.no_grad():
        rows = [json.loads(l) for l in open("/tmp/demo-eval.jsonl")]
        for r in rows:
            e = tok.backend_tokenizer.encode(r["text"]); o = e.offsets; s, t = r["span"]
            try:
                i = next(i for i, x in enumerate(o) if x[0] == s and x[1] > s); j = next(i for i, x in enumerate(o) if x[1] == t and x[1] > x[0]) + 1
            except StopIteration:
                res.setdefault(r["set"], []).append((0, 0)); continue
            want = e.ids[i:j]; ids = list(e.ids); ids[i:j] = [4] * (j - i)
            beams = [(0.0, [])]
            for n in range(j - i):
                new = []
                xs = torch.tensor([ids[:i] + b[1] + [4] * (j - i - n) + ids[j:] for b in beams])
                lp = model(input_ids=xs).logits[:, i + n].log_softmax(-1)
                for (sc, b), row in zip(beams, lp):
                    v, k = row.topk(10); new += [(sc + float(x), b + [int(y)]) for x, y in zip(v, k)]
                beams = sorted(new, key=lambda x: -x[0])[:10]
            c = [b for _, b in beams]
            res.setdefault(r["set"], []).append((want == c[0], want in c[:5]))
            r["got"] = [tok.convert_ids_to_tokens(x) for x in c[:5]]; r["hit"] = want == c[0]
        json.dump(rows, open("/tmp/demo-eval-out.json", "w"), ensure_ascii=False, indent=0)
    model.train()
    return " ".join(f"{k}: n={len(v)} @1={100*sum(x[0] for x in v)/len(v):.1f} @5={100*sum(x[1] for x in v)/len(v):.1f}" for k, v in res.items())

short, full = grammar.passages(11, (2,)), grammar.passages(12, (2, 3, 4))
pool = []; t0 = time.time(); tot = cor = 0; ls = 0.0
for step in range(1, a.steps + 1):
    lr = a.lr * min(1, step / 100) * min(1.0, max(0.02, (a.steps - step) / (a.steps * 0.6)))
    for g in opt.param_groups: g["lr"] = lr
    if not pool:
        pool = []
        exs = []
        while len(exs) < a.batch * 16: exs += examples(a.batch * 4, short if step < a.steps * 0.25 else full)
        exs = sorted(exs[:a.batch * 16], key=lambda x: len(x[0]))
        pool = [exs[i:i + a.batch] for i in range(0, len(exs), a.batch)]; rnd.shuffle(pool)
    ids, att, idx, lab0 = batch(pool.pop()); lab = lab0.abs()
    logits = forward(ids, att, idx)
    loss = torch.nn.functional.cross_entropy(logits, lab)
    loss.backward(); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step(); opt.zero_grad(set_to_none=True)
    q = lab0 > 0; logits = logits[q]; lab = lab[q]
    ls += torch.nn.functional.cross_entropy(logits, lab).item(); cor += (logits.argmax(-1) == lab).sum().item(); tot += len(lab)
    if step % 50 == 0:
        ev = evaluate() if step % 200 == 0 else ""
        print(f"{step} loss {ls/50:.3f} acc {cor/tot:.3f} {time.time()-t0:.0f}s L={ids.shape[1]} {ev}", flush=True); ls = 0; tot = cor = 0
model.half().save_pretrained(a.out); tok.save_pretrained(a.out)
