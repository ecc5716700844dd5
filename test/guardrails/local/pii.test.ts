import { expect, test } from 'vitest'
import { mintKey } from '../../../src/lib/secrets.ts'
import { foundIn, prepared, verdictOn } from './corpus.ts'

test.each([
  ['email', 'email address', 'Write to alice@example.com.', 'alice@example.com'],
  ['email', 'email address', 'x alice&#64;example.com y', 'alice&#64;example.com'],
  ['phone', 'phone number', 'Tel. +49 (30) 90 18 20, please', '+49 (30) 90 18 20'],
  ['phone', 'phone number', '٠٥٥ ١٢٣ ٤٥٦٧', '٠٥٥ ١٢٣ ٤٥٦٧'],
  ['card', 'credit card number', 'pay with 4111-1111-1111-1111!', '4111-1111-1111-1111'],
  ['iban', 'bank account number', 'to DE89 3704 0044 0532 0130 00 today', 'DE89 3704 0044 0532 0130 00'],
  ['national_id', 'national id number', 'SSN 123-45-6788.', '123-45-6788'],
  ['api_key', 'key or token', 'url postgres://bob:s3cr3tpw@db.test', 'postgres://bob:s3cr3tpw@'],
])('the pii guardrail finds %s as %s in %j', (kind, name, text, found) => {
  const verdict = verdictOn(prepared('pii', { kinds: [kind] }), text)

  expect(verdict.kinds).toEqual([name])
  expect(foundIn(text, verdict)).toEqual([found])
  expect(verdictOn(prepared('pii', {}), text).kinds).toContain(name)
})

test('the pii guardrail searches only for the chosen kinds', () => {
  const text = 'alice@example.com, 4111 1111 1111 1111'

  expect(foundIn(text, verdictOn(prepared('pii', { kinds: ['card'] }), text))).toEqual(['4111 1111 1111 1111'])
})

test('the pii guardrail finds a grid key, but not one with a wrong checksum', () => {
  const { key } = mintKey('agent_key')
  const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  const text = `${key} ${wrong}`

  expect(foundIn(text, verdictOn(prepared('pii', {}), text))).toEqual([key])
})

test('a private key without its end mark is redacted up to the end of the text', () => {
  const text = `see -----BEGIN ${'PRIVATE KEY'}-----\nMIIE\nabc`

  expect(foundIn(text, verdictOn(prepared('pii', {}), text))).toEqual([text.slice(4)])
})

/** Numbers with a check digit, which are invalid with another last digit. */
test.each([
  ['4111111111111111'],
  ['GB82WEST12345698765432'],
  ['36574261809'],
  ['282038546669608'],
  ['12345678Z'],
  ['RSSMRA85T10A562S'],
  ['BSN 945159754'],
  ['32.07.02-910.42'],
  ['PESEL 70080931400'],
  ['CNP 1840213120583'],
  ['830724-6796'],
  ['28121735336'],
  ['529.982.247-25'],
  ['20-15601849-0'],
  ['7669 2738 4639'],
  ['110105190403220335'],
  ['PPS 3309106N'],
  ['teudat zehut 919181875'],
])('the number %s is found only with its correct check digit', (number) => {
  const check = prepared('pii', { kinds: ['card', 'iban', 'national_id'] })
  const wrong = number.slice(0, -1) + (/\d$/.test(number) ? (Number(number.at(-1)) + 1) % 10 : 'L')

  expect(verdictOn(check, number).kinds).toHaveLength(1)
  expect(verdictOn(check, wrong).kinds).toEqual([])
})
