if exists('b:current_syntax')
  finish
endif

syntax case match
syntax spell toplevel

syntax match workflowComment /^\s*\%(#\|\/\/\).*$/ contains=workflowTodo,workflowUrl,@Spell
syntax keyword workflowTodo contained TODO FIXME NOTE XXX

" what can follow a `:`; a light markdown, because the real one takes four blanks for code
syntax match workflowUrl contained /\<https\?:\/\/[^[:blank:]<>"`]*[^[:blank:]<>"`.,;:!?)\]]/ contains=@NoSpell
syntax region workflowCode contained oneline start=/`/ end=/`/ contains=@NoSpell
syntax region workflowBold contained oneline start=/\*\*\S\@=/ end=/\S\@<=\*\*/ contains=@Spell
syntax region workflowItalic contained oneline start=/\%(\k\|\*\)\@<!\*\%(\s\|\*\)\@!/ end=/\S\@<=\*/ contains=@Spell
syntax match workflowListMarker contained /^\s\+\zs\%([-*+]\|\d\+[.)]\)\ze\s/
syntax match workflowHeading contained /^\s\+#\{1,6}\s.*$/ contains=workflowCode,workflowUrl,@Spell
syntax match workflowQuote contained /^\s\+>.*$/ contains=workflowCode,workflowBold,workflowUrl,@Spell
syntax region workflowFence contained keepend start=/^\s*\z(`\{3,}\)[^`]*$/ end=/^\s*\z1\s*$/ contains=@NoSpell
syntax cluster workflowProse contains=workflowUrl,workflowCode,workflowBold,workflowItalic,@Spell
syntax cluster workflowMarkdown
  \ contains=@workflowProse,workflowListMarker,workflowHeading,workflowQuote,workflowFence

syntax match workflowWhen /^:.*$/ contains=workflowColon,@workflowProse
syntax match workflowColon contained /^:/

syntax match workflowMove /^\%(\h\w*\|\*\)\s\+to\s\+\%(\h\w*\|\*\)/
  \ contains=workflowState,workflowTo,workflowBoundary nextgroup=workflowGuidance skipwhite
syntax match workflowState contained /\<\h\w*\>/
syntax match workflowBoundary contained /\*/
" the `to` between two states; a state may have that name
syntax match workflowTo contained /\%(\w\|\*\)\@<=\s\+\zsto\ze\s\+\%(\w\|\*\)/

" until the next line that begins in the first column
syntax region workflowGuidance contained keepend matchgroup=workflowColon
  \ start=/:/ end=/\n\S\@=/ contains=@workflowMarkdown

syntax sync minlines=300

highlight default link workflowComment Comment
highlight default link workflowTodo Todo
highlight default link workflowState Identifier
highlight default link workflowTo Statement
highlight default link workflowBoundary Special
highlight default link workflowColon Delimiter
highlight default link workflowWhen String
highlight default link workflowUrl Underlined
highlight default link workflowCode Special
highlight default link workflowFence Special
highlight default link workflowListMarker Special
highlight default link workflowHeading Title
highlight default link workflowQuote Comment
highlight default workflowBold term=bold cterm=bold gui=bold
highlight default workflowItalic term=italic cterm=italic gui=italic

let b:current_syntax = 'workflow'
