# Made by `coalesce completion bash`.
_coalesce() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then COMPREPLY=($(compgen -W 'run check lab banks compare reduce counters completion man --help --version' -- "$word")); return; fi
  case ${COMP_WORDS[1]} in
    run)
      case "$before" in
        --threads) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --engine) COMPREPLY=($(compgen -W 'auto interpreter native plain' -- "$word")); return ;;
        --model) COMPREPLY=($(compgen -W 'ptx ptxas' -- "$word")); return ;;
        --device) COMPREPLY=($(compgen -W 'h200 h100 a100 v100 t4 rtx4090 rtx3090 l4 b200 rtx5090 gb10 p100 p2000' -- "$word")); return ;;
        --devices) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --max-instructions) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
        --compiler) COMPREPLY=($(compgen -W 'auto nvcc clang' -- "$word")); return ;;
        -X) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --metrics) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --json) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --html) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --budget) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --require) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --write-budget) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --sarif) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --junit) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --format) COMPREPLY=($(compgen -W 'text github gcc' -- "$word")); return ;;
        --filter) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --on) COMPREPLY=($(compgen -W 'machine gpu both auto' -- "$word")); return ;;
        --repeat) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --output|-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --threads --engine --model --shadow --device --devices --max-instructions --color --compiler -X --metrics --json --html --budget --require --write-budget --sarif --junit --format --csv --lines --time --wide --allow-stopped --filter --on --repeat --output -o --quiet -q ' -- "$word")); else COMPREPLY=($(compgen -c -f -- "$word")); fi ;;
    check)
      case "$before" in
        --device) COMPREPLY=($(compgen -W 'h200 h100 a100 v100 t4 rtx4090 rtx3090 l4 b200 rtx5090 gb10 p100 p2000' -- "$word")); return ;;
        --devices) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --max-instructions) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
        --compiler) COMPREPLY=($(compgen -W 'auto nvcc clang' -- "$word")); return ;;
        -X) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --json) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --suppress) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --disable) COMPREPLY=($(compgen -W 'race_shared race_global uninitialised early_use divergent_barrier bad_mask out_of_array race_streams race_host bad_copy bad_free constant_write failed_launch uninitialised_copy leak illegal_address misaligned_address deadlock invalid_pc stack_overflow' -- "$word")); return ;;
        --leaks) COMPREPLY=($(compgen -W 'note error off' -- "$word")); return ;;
        --schedules) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --sarif) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --junit) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --format) COMPREPLY=($(compgen -W 'text github gcc' -- "$word")); return ;;
      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --device --devices --max-instructions --color --compiler -X --json --suppress --disable --leaks --schedules --sarif --junit --format --quiet -q ' -- "$word")); else COMPREPLY=($(compgen -c -f -- "$word")); fi ;;
    lab)
      case "$before" in
        --threads) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --engine) COMPREPLY=($(compgen -W 'auto interpreter native plain' -- "$word")); return ;;
        --model) COMPREPLY=($(compgen -W 'ptx ptxas' -- "$word")); return ;;
        --device) COMPREPLY=($(compgen -W 'h200 h100 a100 v100 t4 rtx4090 rtx3090 l4 b200 rtx5090 gb10 p100 p2000' -- "$word")); return ;;
        --devices) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --max-instructions) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
        --compiler) COMPREPLY=($(compgen -W 'auto nvcc clang' -- "$word")); return ;;
        -X) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --n) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --block) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --stride) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --width) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --pad) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --lanes) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --on) COMPREPLY=($(compgen -W 'machine gpu both auto' -- "$word")); return ;;
        --json) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --html) COMPREPLY=($(compgen -f -- "$word")); return ;;
      esac
      COMPREPLY=($(compgen -W '--help -h --threads --engine --model --shadow --device --devices --max-instructions --color --compiler -X --n --block --stride --width --pad --lanes --on --time --json --html --wide --csv --markdown all list' -- "$word")) ;;
    banks)
      case "$before" in
        --stride) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --width) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --pad) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --lanes) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
      esac
      COMPREPLY=($(compgen -W '--help -h --stride --width --pad --lanes --json --color ' -- "$word")) ;;
    compare)
      case "$before" in
        --json) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --all --fail-on-increase --json --color ' -- "$word")); else COMPREPLY=($(compgen -c -f -- "$word")); fi ;;
    reduce)
      case "$before" in
        --op) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --axis) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --type) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --skip) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --column) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --separator) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --missing) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --threads) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --json) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --checkpoint) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --part) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --op --axis --type --skip --column --separator --missing --threads --json --output --checkpoint --resume --part --merge --color ' -- "$word")); else COMPREPLY=($(compgen -c -f -- "$word")); fi ;;
    counters)
      case "$before" in
      esac
      COMPREPLY=($(compgen -W '--help -h --markdown --ncu ' -- "$word")) ;;
    completion)
      case "$before" in
      esac
      COMPREPLY=($(compgen -W '--help -h bash zsh fish' -- "$word")) ;;
    man)
      case "$before" in
      esac
      COMPREPLY=($(compgen -W '--help -h ' -- "$word")) ;;
  esac
}
complete -o filenames -F _coalesce coalesce
