/** Letters that look like Latin ones. */

/**
 * Each Latin letter, and the small letters of other scripts that look like it or whose capitals do, as far as NFKD does
 * not resolve them.
 *
 * @see UTS #39, confusables.txt
 */
const rows = 'aᴀɑαаꭺᗅꓮ𖽀𐊠 bʙƅьꮟᑲᖯꞵβвᏼᗷꓐ𐊂𐊡𐌁 cᴄσⲥсꮯ𐐽ꓚ𐊢𐌂𐔜 dᴅđԁꮷᑯꓒꭰᗞᗪꓓ eᴇꬲеҽεⴹꭼꓰ𑣆𑣎𐊆 fꜰғꬵꞙẝքϝᖴꓝ𑣂𐊇𐊥𐔥 gɢɡᶃƍցԍꮐᏻꓖ ' +
  'hʜħһհꮒηⲏнꮋᕼꓧ𐋏 iɪɩιіꙇӏꭵ𑣃ǀⲓⵏᛁꓲ𖼨𐊊𐌉 jᴊϳјʝꭻᒍꓙ kᴋκⲕкꮶᛕꓗ𐔘 lʟłⳑꮮᒪꓡ𖼖𑣒𐑃𐔦 mᴍμϻⲙмꮇᗰᛖꓟ𐊰𐌑 nɴոռνⲛꓠ𐔓 ' +
  'oøᴏᴑꬽοⲟоօ𐓪𑣈𑣗𐐬ⵔꓳ𑣕𐊒𐊫𐔖 pᴘρⲣрꮲᑭꓑ𐊕 qꞯԛգզⵕ rꭇꭈᴦⲅгꮁʀꭱꮢ𐓜ᖇꓣ𖼵 sꜱƽѕꮪ𑣁𐑈տꮥꓢ𖼺𐊖 tᴛτⲧтꭲꓔ𖼊𑣜𐊗𐊱𐌕 ' +
  'uꞟᴜꭎꭒʋυս𐓶𑣘ᑌꓴ𖽂 vᴠѵ𑜆ꮩ𑣀ⴸᐯꛟꓦ𖼈𐔝 wɯᴡѡԝա𑜊𑜎𑜏ꮃꮤꓪ xхᕁᕽꭓχⲭⵝᚷꓫ𐊐𐊴𐌗𐔧 yɣᶌʏỿꭚγуүⲩꭹꮍꓬ𖽃𑣄𐊲 zᴢꮓζꓜ𑣉'

/** By the letter, the Latin letter that it looks like. */
export const lookalikes: ReadonlyMap<string, string> = new Map(
  rows.split(' ').flatMap((row) => {
    const [latin, ...others] = row
    return others.map((other) => [other, latin] as const)
  }),
)
