/** Check digits. All texts consist of digits and, where said, capital letters. */

/** @see ISO/IEC 7812-1, annex B */
export function luhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    sum += i % 2 === 0 ? digit : digit > 4 ? 2 * digit - 9 : 2 * digit
  }
  return sum % 10 === 0
}

/** The remainder of a long number; letters count from A = 10 on. @see ISO 7064, MOD 97-10 */
export function mod97(text: string): number {
  let rest = 0
  for (const char of text) {
    const value = Number.parseInt(char, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest
}

/** The sum of the digits, each times its weight. */
export function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, i) => sum + weight * Number(digits[i]), 0)
}

/** @see ISO 7064, MOD 11,10 */
export function mod11And10(digits: string): boolean {
  let product = 10
  for (const digit of digits.slice(0, -1)) {
    const sum = (Number(digit) + product) % 10 || 10
    product = (2 * sum) % 11
  }
  return (product + Number(digits.at(-1))) % 10 === 1
}

const permutation = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]

/** @see Verhoeff: "Error Detecting Decimal Codes", 1969. The dihedral group of order 10. */
export function verhoeff(digits: string): boolean {
  let check = 0
  for (let i = 0; i < digits.length; i++) {
    let digit = Number(digits[digits.length - 1 - i])
    for (let times = i % 8; times > 0; times--) digit = permutation[digit]
    check = dihedral(check, digit)
  }
  return check === 0
}

function dihedral(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + (a + b) % 5
  return b < 5 ? 5 + (a - b) % 5 : (a - b + 5) % 5
}

/** Whether there is such a day. Two digits of the year leave the century open. */
export function isDate(year: string, month: string, day: string): boolean {
  const [m, d] = [Number(month), Number(day)]
  const isLeap = Number(year) % 4 === 0
  return m >= 1 && m <= 12 && d >= 1 && d <= [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][m - 1]
}
