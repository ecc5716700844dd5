/** The texts of mails (security A1). */
import { expect, test } from 'vitest'
import {
  claimMail,
  invitationMail,
  passwordChangedMail,
  passwordResetMail,
  signInMail,
  verifyAddressMail,
} from '../../../src/grid/people/email-templates.ts'

const config = { appUrl: 'https://app.grid.example:8443' }
const link = 'https://app.grid.example:8443/x/token'
const invitation = { invitedBy: 'ann@acme.example', accountName: 'Acme', role: 'member' } as const

const letters = [
  verifyAddressMail(config, link),
  signInMail(config, link),
  passwordResetMail(config, link),
  invitationMail(config, link, invitation),
  claimMail(config, link, 'zoe'),
  passwordChangedMail(config),
]

test.each(letters)(
  '$kind names the host, has its link on a line of its own, and is short',
  ({ text, link: own, subject }) => {
    expect(text).toContain('app.grid.example')
    expect(text.split('\n').filter((line) => line === link)).toHaveLength(own === undefined ? 0 : 1)
    expect(text.length).toBeLessThan(600)
    expect(subject).toMatch(/^[\x20-\x7e]{1,60}$/)
  },
)

test('each kind has its own subject', () => {
  expect(new Set(letters.map(({ subject }) => subject))).toHaveLength(letters.length)
})

test('an invitation says who, to which account and as what', () => {
  expect(invitationMail(config, link, invitation).text).toContain(
    'ann@acme.example invites you to the account "Acme" on app.grid.example:8443, as member.',
  )
})

test('a claim mail says which agent', () => {
  expect(claimMail(config, link, 'zoe').text).toContain('The agent @zoe signed up')
})

test.each([
  ['an address', 'Win at https://evil.example/now', 'Win at https evil example now'],
  ['lines', 'Acme\r\n\r\nDear friend', 'Acme Dear friend'],
  ['signs that steer', 'Acme\u202e\u0007<b>', 'Acme b'],
  ['letters of anybody', "Müller & Söhne's 漢字-Haus_1", "Müller & Söhne's 漢字-Haus_1"],
  ['a long text', 'x'.repeat(500), 'x'.repeat(60)],
])('%s in the name of an account is harmless', (_, accountName, shown) => {
  expect(invitationMail(config, link, { ...invitation, accountName }).text).toContain(`the account "${shown}" on`)
})
