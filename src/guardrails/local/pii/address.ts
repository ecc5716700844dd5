/** Postal addresses: a street with its number, or a town with its postal code. */
import { hasAny, kinds } from '../traits.ts'
import { type Detector, matching } from './detector.ts'

const name = String.raw`\p{Lu}[\p{L}\p{M}'’.-]{1,30}`
const number = String.raw`\d{1,5}(?:[ -]?[a-zA-Z])?(?![\p{L}\p{N}])`

/** Each with what it cannot do without: most texts have none of it. */
const shapes: readonly (readonly [hint: RegExp, shape: string])[] = [
  // English: 221B Baker Street.
  [
    / (?:St|Ave|R|L[an]|Dr|B|C|Sq|Ter|P[ak]|H|G|M)/,
    String
      .raw`\d{1,5}[A-Za-z]?,? (?:(?:North|South|East|West|[NSEW]\.?) )?(?:${name} |\d{1,3}(?:st|nd|rd|th) ){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Square|Sq|Terrace|Parkway|Pkwy|Crescent|Highway|Hwy|Close|Gardens|Mews)(?![\p{L}\p{N}])`,
  ],
  // German and Dutch: Hauptstraße 5, Keizersgracht 12.
  [
    /(?:str(?:aße|asse|aat|\.)|weg|platz|allee|gasse|damm|ufer|laan|plein|gracht|kade|gatan|vägen|gade|vej|gata|veien) \d/,
    String
      .raw`\p{Lu}[\p{L}-]{1,30}(?:straße|strasse|str\.|weg|platz|allee|gasse|damm|ufer|straat|laan|plein|gracht|kade|steenweg|gatan|vägen|gade|vej|gata|veien) ${number}`,
  ],
  [
    /(?:Str(?:aße|asse|\.)|Allee|Platz|Weg|Ring|Damm|Ufer) \d/,
    String.raw`(?:${name} ){1,2}(?:Straße|Strasse|Str\.|Allee|Platz|Weg|Ring|Damm|Ufer) ${number}`,
  ],
  // French: 10 rue de la Paix.
  [
    /\d(?: ?bis| ?ter)?,? (?:[Rr]ue|[Aa]v|b[do]|Bd|Boul|place|[Cc]hemin|[Ii]mpasse|[Aa]llée|[Qq]uai|cours|route)/,
    String
      .raw`\d{1,4}(?: ?(?:bis|ter))?,? (?:[Rr]ue|[Aa]venue|av\.|[Bb]oulevard|[Bb]d|place|[Cc]hemin|[Ii]mpasse|[Aa]llée|[Qq]uai|cours|route) (?:(?:de la|de l['’]|des|du|de|d['’]|la|le|les) ?)?${name}(?: ${name}){0,3}`,
  ],
  // Spanish, Portuguese, Italian: Calle Mayor 5, Rua Augusta, 1200, Via Roma 12.
  [
    /Calle|C\/|Av|Plaza|Paseo|Carrera|Rua|Travessa|Praça|Alameda|Via|Piazza|Corso|Vicolo|Largo/,
    String
      .raw`(?:Calle|C\/|Avenida|Avda\.?|Av\.|Plaza|Paseo|Carrera|Rua|Travessa|Praça|Alameda|Via|Viale|Piazza|Corso|Vicolo|Largo) (?:(?:de la|de los|de las|del|de|da|do|dos|das|della|delle|dei|di) )?${name}(?: (?:de |da |do |di |del )?${name}){0,3},? (?:n\.?[ºo°]? ?)?${number}`,
  ],
  // Slavic: ул. Ленина, д. 5; ul. Marszałkowska 10.
  [
    /ул|пр|пер|пло|вул|ul\.|al\./,
    String
      .raw`(?:ул\.|улица|проспект|пр-т|переулок|площадь|вул\.|ul\.|al\.) ?(?:${name} ?){1,3},? ?(?:д\.|дом|буд\.)? ?${number}`,
  ],
  // Turkish: Atatürk Caddesi No: 5.
  [
    /Cad|Sok|Bulvarı/,
    String.raw`(?:${name} ){1,3}(?:Caddesi|Cad\.|Sokak|Sokağı|Sok\.|Bulvarı)[ ,]{1,2}No[:. ]{1,2}\d{1,4}`,
  ],
  // Chinese, Japanese, Korean.
  [/[路街道巷弄]\d/, String.raw`[\p{Script=Han}]{2,12}(?:路|街|大道|巷|弄)\d{1,5}(?:号|號)`],
  [/〒/, String.raw`〒 ?\d{3}-?\d{4}`],
  [
    /丁目|\d-\d/,
    String.raw`[\p{Script=Han}]{2,8}[都道府県市区町村]\p{Script=Han}{1,10}\d{1,3}(?:丁目|-\d{1,3}-\d{1,3})`,
  ],
  [/[로길] \d/, String.raw`[\p{Script=Hangul}\d]{1,12}(?:로|길) \d{1,4}(?:-\d{1,4})?(?:번지)?(?![\p{L}\p{N}])`],
  // Arabic: شارع الملك فهد 12.
  [/شارع/, String.raw`شارع (?:[\p{Script=Arabic}]{2,20} ){1,3}\d{1,4}`],
  // Germany, Austria, France, Italy, Spain, Poland: a number, and a town behind its code: Unter den Linden 77, 10117 Berlin.
  [
    /\d[a-zA-Z]?, (?:[A-Z]{1,2}-)?\d\d-?\d{2,3} /,
    String
      .raw`(?:${name} (?:[\p{L}\p{M}'’.-]{1,30} ){0,3})?${name} \d{1,4} ?[a-zA-Z]?, (?:[A-Z]{1,2}-)?(?:\d{4,5}|\d\d-\d{3}) ${name}`,
  ],
  // A town of the United States, of Britain, of Canada with its code; a post office box.
  [
    /, [A-Z]{2} \d{5}/,
    String
      .raw`${name}(?: ${name}){0,2}, (?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]) \d{5}(?:-\d{4})?(?!\d)`,
  ],
  [/ \d[A-Z]{2}/, String.raw`${name},? [A-Z]{1,2}\d[A-Z\d]? \d[ABD-HJLNP-UW-Z]{2}(?![\p{L}\p{N}])`],
  [/[A-Z]\d[A-Z] \d/, String.raw`[ABCEGHJ-NPRSTVXY]\d[A-Z] \d[A-Z]\d(?![\p{L}\p{N}])`],
  [
    /Box|Post|Apartado|Casella|Boîte/,
    String
      .raw`(?:P\.? ?O\.? Box|Postfach|Apartado(?: de Correos)?|Casella Postale|Boîte Postale) \d{1,6}(?! ?[\p{Ll}])`,
  ],
]

const compiled = shapes.map(([hint, shape]) => ({ hint, shape: new RegExp(`(?<![\\p{L}\\p{N}])(?:${shape})`, 'gu') }))
/** Those that have a letter of ASCII in their hint. */
const inAscii = compiled.filter(({ hint }) => /[A-Za-z]/.test(hint.source.replace(/\\./g, '')))

/** What stands beside the number of an address, except where only a name does. */
const numberOfAddress = new RegExp(
  `\\d(?:${
    [
      // A name or another number after it; a French street; a part of a Japanese one.
      String.raw`(?=[A-Za-z]?,? [\p{Lu}\d])`,
      '(?=(?: ?bis| ?ter)?,? (?:rue|av|b[do]|place|chemin|impasse|allée|quai|cours|route))',
      // A German, Dutch or Scandinavian street before it, a Turkish one, a state, a box, a letter of a postal code.
      String
        .raw`(?<=(?:str(?:aße|asse|aat|\.)|weg|platz|allee|gasse|damm|ufer|laan|plein|gracht|kade|steenweg|gatan|vägen|gade|vej|gata|veien) \d)`,
      String.raw`(?<=(?:Str(?:aße|asse|\.)|Allee|Platz|Weg|Ring|Damm|Ufer) \d)`,
      String.raw`(?<=No[:. ]{1,2}\d)`,
      String.raw`(?<=, [A-Z]{2} \d)`,
      String.raw`(?<=(?:Box|Postfach|Apartado|Correos|Postale) \d)`,
      String.raw`(?<=[A-Z]\d)`,
      // The scripts of the other shapes.
      String.raw`(?<=[\p{Script=Han}〒] ?\d|[로길] \d|\p{Script=Arabic} \d)`,
    ].join('|')
  })`,
  'u',
)
/** A number after a name, as in all the other shapes, and what stands before the name. */
const numberAfterName = /\d(?<=\p{Lu}[\p{L}\p{M}'’.-]{1,30} ?,? ?(?:n\.?[ºo°]? ?|д\.|дом|буд\.)? ?\d)/u
const streetBeforeName =
  /Calle|C\/|Av|Plaza|Paseo|Carrera|Rua|Travessa|Praça|Alameda|Via|Piazza|Corso|Vicolo|Largo|ул|пр|пер|пло|вул|ul\.|al\./

/** Whether any of the shapes may be in a text: most numbers have something else beside them. */
function mayHaveAddress(text: string): boolean {
  return numberOfAddress.test(text) || (numberAfterName.test(text) && streetBeforeName.test(text))
}

export const address: Detector = {
  id: 'address',
  kind: 'postal address',
  find(text) {
    if (!hasAny(text, kinds.digit) || !mayHaveAddress(text)) return []
    const shapes = hasAny(text, kinds.other) ? compiled : inAscii
    return shapes.flatMap(({ hint, shape }) => hint.test(text) ? matching(text, shape) : [])
  },
}
