/**
 * Detects common passwords. The list contains words instead of passwords, because people append too many different
 * endings to words.
 */

const words = `
password passwort passwords passphrase passcode pass motdepasse contrasena contraseña senha salasana parola heslo haslo wachtwoord
losenord lösenord kodeord secret secreto geheim segreto hidden private admin administrator root superuser sysadmin
system master server database changeme change changeit default letmein letme welcome welkom willkommen bienvenue
bienvenido bemvindo benvenuto hello hallo hola bonjour ciao goodbye login logon signin access enter open sesame
opensesame guest user username test testing tester demo example sample temp temporary support service company
business office computer laptop internet network windows microsoft google facebook twitter instagram apple iphone
android samsung linux ubuntu debian docker github whatever nothing something anything trustno trustme killer hunter
iloveyou ilove iloveu loveyou love lover lovely forever always mylove baby babygirl babyboy angel sweetheart honey
princess prince queen king sunshine rainbow butterfly flower flowers rose summer winter spring autumn season
january february march april june july august september october november december monday tuesday wednesday thursday
friday saturday sunday football futbol soccer baseball basketball hockey tennis golf volleyball rugby cricket
liverpool arsenal chelsea manchester united barcelona realmadrid juventus bayern dortmund yankees cowboys steelers
dragon monkey tiger lion eagle horse shark panther phoenix unicorn dolphin kitten kitty puppy doggy fluffy buster
superman batman spiderman ironman starwars startrek pokemon pikachu naruto minecraft fortnite roblox matrix gandalf
mickey minnie mouse snoopy garfield scooby whiskey vodka cookie cookies chocolate banana cheese pepper ginger
michael michelle jennifer jessica ashley daniel matthew andrew joshua anthony thomas robert william charlie jordan
alexander christopher nicole samantha elizabeth victoria amanda stephanie patrick maria carlos andrea martin peter
london paris berlin madrid america canada england germany france mexico brazil australia newyork california texas
mustang ferrari porsche mercedes corvette harley yamaha freedom heaven jesus christ jesuschrist god godisgood bless
blessed faith family mother father mommy daddy friend friends bestfriend school student teacher number one
correcthorsebatterystaple correcthorse batterystaple thequickbrownfox loremipsum loremipsumdolor abracadabra
qwertyuiop qwertyuio qwerty qwert qwertz qwertzuiop azerty azertyuiop asdfghjkl asdfghjk asdfgh asdf yxcvbnm
zxcvbnm zxcvbn zxcv poiuytrewq lkjhgfdsa mnbvcxz qazwsxedc qazwsx wsxedc edcrfv rfvtgb 1qaz2wsx3edc 1qaz2wsx 2wsx3edc
1q2w3e4r5t6y 1q2w3e4r5t 1q2w3e4r 1q2w3e q1w2e3r4t5y6 q1w2e3r4t5 q1w2e3r4 zaq12wsx zaq1xsw2 abcdefghijklmnopqrstuvwxyz abcdefghijkl abcdefghij
abcdefgh abcdef abcd abc xyz agent agentgrid grid agents robot robots chatgpt openai claude the and my is your
me you new old big our this that best first last i a`.trim().split(/\s+/).sort((a, b) => b.length - a.length)

/** Maximum length of an ending after the words, in characters. */
const maxEnding = 8
/** Minimum length of a password that consists only of digits. */
const minDigits = 16

const commonWord = new RegExp(words.join('|'), 'g')
/** A password with more words than this counts as a passphrase. */
const maxWords = 3
const substitutions: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  '$': 's',
  '5': 's',
  '7': 't',
}

/**
 * Whether a password is common. It may consist of up to three common words with a short ending of digits and symbols
 * (also with substitutions such as `@` for `a`), of a repeated piece of up to four characters, or of under 16 digits.
 */
export function isCommonPassword(password: string): boolean {
  const plain = password.toLowerCase()
  const unsubstituted = plain.replace(/[@431!0$57]/g, (char) => substitutions[char])
  // Digits in the ending are not substitutions: passw0rd2024 is passw0rd plus a year.
  const ending = plain.match(/[\d\W_]*$/)![0].length
  const mixed = unsubstituted.slice(0, unsubstituted.length - ending) + plain.slice(plain.length - ending)
  return isRepeated(plain) || (/^\d+$/.test(plain) && plain.length < minDigits) ||
    [plain, unsubstituted, mixed].some(isWordsAndEnding)
}

function isWordsAndEnding(text: string): boolean {
  const found = (text.match(commonWord) ?? []).filter((word) => word.length > 3)
  if (found.length === 0 || found.length > maxWords) return false
  const rest = text.replace(commonWord, '')
  return rest.length <= maxEnding && /^[\d\W_]*$/.test(rest)
}

/** Whether the text repeats a piece of up to four characters. */
function isRepeated(text: string): boolean {
  return [1, 2, 3, 4].some((size) => text === text.slice(0, size).repeat(text.length).slice(0, text.length))
}
