--- Code point ranges of `tideate.ui.text.escaping`, equal to those of `tideate_core/util/escaping.py`.
local M = {}

---@param text string code points in hexadecimal, alone or as `first-last`
---@return integer[][]
local function ranges(text)
  local found = {}
  for first, last in text:gmatch('(%x+)%-?(%x*)') do
    table.insert(found, { tonumber(first, 16), tonumber(last ~= '' and last or first, 16) })
  end
  return found
end

--- Controls, blanks, marks and fillers that are invisible or change the display.
M.odd = ranges([[
  0-8 b-1f 7f-a0 ad 300-36f 483-489 61c 70f 115f-1160 1680 17b4-17b5 180b-180f 1ab0-1aff 1dc0-1dff
  2000-200f 2028-202f 205f-206f 20d0-20ff 2800 3000 3164 d800-f8ff fe00-fe0f fe20-fe2f feff ffa0
  fff0-fffc fffe-ffff 13430-13455 1bca0-1bca3 1d159 1d173-1d17a e0000-e0fff f0000-10ffff
]])

--- Combining marks of living scripts; a stack of them covers other lines.
M.marks = ranges([[
  591-5c7 610-61a 64b-65f 670 6d6-6ed 730-74a 900-902 93c 941-948 94d 951-957 e31 e34-e3a e47-e4e eb1
  eb4-ebc ec8-ece f71-f84
]])

--- Letters that look like ASCII letters.
M.looks = ranges([[
  131 17f 1c0 1c3 251 261 269-26a 28f 29f 37f 391-392 395-397 399-39a 39c-39d 39f 3a1 3a4-3a5 3a7 3b1
  3b3 3b9-3ba 3bd 3bf 3c1 3c5 3c7 3f2-3f3 3f9 405-406 408 410 412 415 417 41a 41c-41e 420-423 425 430
  435 43e 440-441 443 445 455-456 458 474-475 4ae-4af 4bb 4c0 4cf 501 50c 51a-51d 54d 555 566 570 578
  57d 581 585 13a0-13f5 1d00-1d2b 210e 2113 212a 212e 2160-217f 2c80-2cff a4d0-a4ff ab70-abbf
  ff10-ff19 ff21-ff3a ff41-ff5a 1d400-1d7ff
]])

--- Signs that look like those of paths, options and hosts.
M.signs = ranges([[
  2bc 2d0 37e 387 589 2010-2012 2024 2044 2212 2215-2216 2236 2571-2572 29f5 29f8 a789 fe52 fe55 fe63
  fe68 ff0e-ff0f ff3c
]])

--- Letters of words, including look-alikes.
M.letters = ranges([[
  41-5a 61-7a c0-2ff 370-482 48a-58f 13a0-13ff 1c80-1c8f 1d00-1dbf 1e00-1fff 2c60-2cff a640-a69f
  a720-a7ff ab30-abbf
]])

--- Signs that a variation selector or a joiner may follow.
M.emoji = ranges([[
  2190-27ff 2b00-2bff 3030 303d 3297 3299 1f000-1faff
]])

--- Scripts that use joiners.
M.joined = ranges([[
  600-6ff 900-dff
]])

return M
