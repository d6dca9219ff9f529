if exists('b:current_syntax')
  finish
endif

syntax match tideateGraphLine /[─│┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝║═╟╢]\+/
syntax match tideateGraphArrow /[▼▲◀▶◄►→↺]/
syntax match tideateGraphTitle /[│║] \%([①-⑳] \|(\d\+) \)\?\zs\h\w*\ze\%( (unreachable)\)\? *[│║├╟┤╢◀◄]/
syntax match tideateGraphTarget /→ \%([①-⑳] \|(\d\+) \)\?\zs\h\w*/
syntax match tideateGraphEnd /[●◉]/
syntax match tideateGraphLost /(unreachable)/

highlight default link tideateGraphLine NonText
highlight default link tideateGraphArrow Special
highlight default link tideateGraphTitle Function
highlight default link tideateGraphTarget Identifier
highlight default link tideateGraphEnd Special
highlight default link tideateGraphLost DiagnosticWarn

let b:current_syntax = 'tideate-graph'
