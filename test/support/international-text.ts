/**
 * Texts that must remain unchanged: sentences in scripts that need invisible characters, names and dates of all locales
 * of the runtime, and emoji. Invisible characters are written as escapes.
 */

/** A text with its language (BCP 47) and its script (ISO 15924). */
export interface InternationalText {
  language: string
  script: string
  text: string
}

/** Sentences in which an invisible character has an effect, because the script or the typography uses it. */
const sentences: [language: string, text: string][] = [
  ['fa', 'نمی\u200cخواهم کتاب\u200cها را بخوانم، خانه\u200cام دور است.'],
  ['fa', 'آن\u200cها گفتند: «بچه\u200cها می\u200cروند» (۱۲\u200cام)'],
  ['ckb', 'ئه\u200cوه ده\u200cزانم'],
  ['ar', 'يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. الهجرة: ١٤٤٥ ه\u200d'],
  ['ar', 'الإصدار (C++)\u200f متاح، والرابط: https://grid.example/\u200e'],
  ['ar', 'السعر:\u061c 12.5 ر.س'],
  ['he', 'כל בני האדם נולדו בני חורין. אני אוהב C++\u200f'],
  ['he', 'הוא אמר C#\u200e אתמול, וגם \u200f"שלום"\u200f.'],
  ['he', 'בְּרֵאשִׁית בָּרָא אֱלֹהִים; ירושל\u05b7\u034f\u05b4ם; מִצְו\u200c\u05b9ת'],
  ['hi', 'सभी मनुष्य जन्म से स्वतन्त्र हैं। क्\u200dष और क्\u200cष अलग दिखते हैं।'],
  ['mr', 'सर्\u200dया मानवी व्यक्ती; दुसर्\u200dया, तऱ्हा'],
  ['sa', 'सर्वे मानवाः स्वतन्त्राः समुत्पन्नाः; अग्नि॑मीळे पु॒रोहि॑तं'],
  ['bn', 'সমস্ত মানুষ স্বাধীনভাবে জন্মগ্রহণ করে; র\u200d্যাব, উদ্\u200cঘাটন'],
  ['kn', 'ಎಲ್ಲಾ ಮಾನವರೂ ಸ್ವತಂತ್ರರಾಗಿಯೇ; ಸಾಫ್ಟ್\u200cವೇರ್, ರ\u200d್ಯಾಂಕ್'],
  ['ml', 'മനുഷ്യരെല്ലാവരും തുല്യാവകാശങ്ങളോടും; അവന്\u200d, തമിഴ്\u200cനാട്'],
  ['si', 'සියලු මනුෂ්\u200dයයෝ නිදහස් ව උපත ලබා ඇත. ශ්\u200dරී ලංකාව, ක්\u200dෂේත්\u200dර'],
  ['km', 'មនុស្ស\u200bទាំងអស់\u200bកើតមក\u200bមាន\u200bសេរីភាព\u200bនិង\u200bសមភាព'],
  ['km', 'ភាសា\u200bខ្មែរ\u200b (Khmer)\u200bនៅ Phnom Penh \u200bកម្ពុជា'],
  ['my', 'လူတိုင်းသည်\u200bတူညီ\u200bလွတ်လပ်သော\u200bဂုဏ်သိက္ခာဖြင့်'],
  ['th', 'มนุษย์ทั้งปวง\u200bเกิดมา\u200bมีอิสระ\u200bและเสมอภาคกัน'],
  ['bo', 'འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་\u200bསྐྱེས་ཙམ་ཉིད་ནས'],
  ['mn-Mong', 'ᠬᠦᠮᠦᠨ ᠪᠦᠷ ᠲᠥᠷᠥᠵᠦ ᠮᠡᠨᠳᠡᠯᠡᠬᠦ ᠡᠷᠬᠡ ᠴᠢᠯᠥᠭᠡ ᠲᠡᠢ; ᠤᠨ\u180b, ᠭᠠᠵᠠᠷ\u180eᠠ'],
  ['ja', '葛\u{e0100}城市と葛\u{e0101}飾区、辻\u{e0100}さん、芦\u{e0101}屋、神\ufe00社'],
  ['ja', 'すべての人間は、生まれながらにして自由であり、ﾊﾝｶｸ ｶﾅも。'],
  ['zh-Hans', '人人生而自由，在尊严和权利上一律平等。，\ufe00。\ufe01'],
  ['ko', '모든 인간은 태어날 때부터 자유로우며'],
  ['okm', '나랏말ᄊᆞ미 듕귁에 달아; \u115fᅵ, ᄀ\u1160ᆫ, \u115f\u1160ᆨ'],
  ['lzh-Phag', 'ꡏꡡꡃ ꡣꡡꡙ\ufe00'],
  ['de', 'Donau\u00addampf\u00adschiff\u00adfahrts\u00adgesellschaft, „Größe“'],
  ['sk', 'Všetci ľudia sa rodia slobodní; viac\u034f\u0301hlasný'],
  ['en', 'Line one\r\nLine two\n\tindented — “quoted” … ½ × 2'],
  ['vi', 'Tất cả mọi người sinh ra đều được tự do và bình đẳng'],
  ['vi', 'Tất cả mọi người'.normalize('NFD')],
  ['mul-Zmth', '∩\ufe00 ∪\ufe00 ≨\ufe00, 0\ufe00, ½ ≤ √2, ∀x∈ℝ'],
  ['mul-Zsym', '✓\ufe0e ⚖\ufe0e ☎\ufe0f ↔\ufe0f ▶\ufe0f ™\ufe0f ©\ufe0e ♠\ufe0e'],
  ['egy', '𓀀𓏏𓆑\ufe00'],
]

const locales =
  'aa af ak am ar ar-EG ar-MA as asa az az-Cyrl bas be bem bg bm bn bo br brx bs bs-Cyrl ca ccp ce ceb chr ckb cs cv cy da de doi dsb dz ee el en eo es et eu fa fa-AF ff ff-Adlm fi fil fo fr fur fy ga gd gl gsw gu gv ha haw he hi hr hsb hu hy ia id ig ii is it ja jgo jv ka kab kea kk kl km kn ko kok ks ks-Deva ku kw ky lb lg ln lo lrc lt lu lv mai mg mi mk ml mn mni mr ms mt my mzn nb ne nl nn no nqo nus oc om or os pa pa-Arab pcm pl ps pt qu rm ro ru rw sa sah sat sc sd sd-Deva se si sk sl smn so sq sr sr-Latn st su sv sw syr ta te tg th ti tk tn to tr tt ug uk ur uz uz-Arab uz-Cyrl vai vi vec wo xh yi yo yue yue-Hans zgh zh zh-Hant zu'
    .split(' ')
const regions = ['DE', 'IR', 'IL', 'IN', 'KH', 'MM', 'EG', 'JP']

/** Returns CLDR's formats in a language: date, list of countries, amount. Right-to-left locales use direction marks. */
function localeTexts(locale: string): string[] {
  const names = new Intl.DisplayNames(locale, { type: 'region' })
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long', timeZone: 'Asia/Tehran' })
  const amount = new Intl.NumberFormat(locale, { style: 'currency', currency: 'EUR' })
  return [
    date.format(1e12),
    new Intl.ListFormat(locale).format(regions.map((region) => names.of(region)!)),
    `${names.of('EG')}: ${amount.format(-1_234.5)}`,
  ]
}

/** Returns all texts of the corpus. */
export function internationalTexts(): InternationalText[] {
  const all = [
    ...sentences,
    ...Intl.DateTimeFormat.supportedLocalesOf(locales).flatMap((locale) =>
      localeTexts(locale).map((text): [string, string] => [locale, text])
    ),
  ]
  return all.map(([tag, text]) => {
    const { language, script } = new Intl.Locale(tag).maximize()
    return { language, script: script ?? 'Zyyy', text }
  })
}

const tones = ['', '🏻', '🏼', '🏽', '🏾', '🏿']

/** Returns emoji that consist of several characters, and many single-character emoji. */
export function emojiTexts(): string[] {
  const roles = '⚕️ ⚖️ ✈️ 🌾 🍳 🎓 🎤 🎨 🏫 🏭 💻 💼 🔧 🔬 🚀 🚒 🦯 🦼 🦽 🦰 🦱 🦳 🦲'.split(' ')
  const acts = '🏃 🏄 🏊 🏋 👮 👷 💁 💂 🕵 🙋 🚴 🤷 🦸 🧙 🧝 🧖'.split(' ')
  return [
    ...'👨 👩 🧑'.split(' ').flatMap((person) =>
      tones.flatMap((tone) => roles.map((role) => `${person}${tone}\u200d${role}`))
    ),
    ...acts.flatMap((act) => tones.flatMap((tone) => ['♂️', '♀️'].map((sign) => `${act}${tone}\u200d${sign}`))),
    ...tones.slice(1).flatMap((tone) => [`🧑${tone}\u200d❤️\u200d💋\u200d🧑🏿`, `🫱${tone}\u200d🫲🏿`, `👍${tone}`]),
    ...['👨‍👩‍👧‍👦', '👩‍❤️‍👨', '🏳️‍🌈', '🏳️‍⚧️', '🏴‍☠️', '❤️‍🔥', '❤️‍🩹', '🐈‍⬛', '🐻‍❄️', '😶‍🌫️', '👁️‍🗨️', '🏃‍➡️', '🙂‍↔️'],
    ...['gbeng', 'gbsct', 'gbwls'].map((region) => `🏴${tagged(region)}\u{e007f}`),
    ...'0123456789#*'.split('').map((key) => `${key}\ufe0f\u20e3`),
    ...'☀ ☎ ☺ ♥ ♨ ⚠ ⚡ ✂ ✈ ✉ ✔ ✨ ❄ ❤ ➡ ⤴ ⭐ 〰 ㊗ ㊙ 🅰 🈂 🌡 🎙 🏔 🐿 🖥 🗣 🛡 ↩ ™ © ®'.split(' ').flatMap((symbol) => [
      `${symbol}\ufe0f`,
      `${symbol}\ufe0e`,
    ]),
    ...'DE FR JP US GB IN BR ZA UA IL IR KE'.split(' ').map((region) =>
      String.fromCodePoint(...[...region].map((letter) => 0x1f1a5 + letter.charCodeAt(0)))
    ),
  ]
}

/** Encodes text as Unicode tags, which are invisible. */
export function tagged(ascii: string): string {
  return String.fromCodePoint(...[...ascii].map((char) => 0xe0000 + char.charCodeAt(0)))
}
