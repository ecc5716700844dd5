/** Email texts. See docs/people.md, "Signing in". */
import { expect, test } from 'vitest'
import {
  claimEmail,
  invitationEmail,
  linkEmail,
  passwordChangedEmail,
} from '../../../src/grid/people/email-templates.ts'

const config = { appUrl: 'https://app.grid.example:8443' }
const link = 'https://app.grid.example:8443/x/token'
const invitation = { invitedBy: 'ann@acme.example', accountName: 'Acme', role: 'member' } as const

const templates = [
  linkEmail(config, 'verify_address', link),
  linkEmail(config, 'sign_in', link),
  linkEmail(config, 'password_reset', link),
  invitationEmail(config, link, invitation),
  claimEmail(config, link, 'zoe'),
  passwordChangedEmail(config),
]

test.each(templates)(
  'a $kind email names the host, has its link on a separate line, and is short',
  ({ text, link: own, subject }) => {
    expect(text).toContain('app.grid.example')
    expect(text.split('\n').filter((line) => line === link)).toHaveLength(own === undefined ? 0 : 1)
    expect(text.length).toBeLessThan(600)
    expect(subject).toMatch(/^[\x20-\x7e]{1,60}$/)
  },
)

test.each([
  ['an address', 'Win at https://evil.example/now', 'Win at https evil example now'],
  ['line breaks', 'Acme\r\n\r\nDear friend', 'Acme Dear friend'],
  ['control characters', 'Acme\u202e\u0007<b>', 'Acme b'],
  ['characters of any script', "Müller & Söhne's 漢字-Haus_1", "Müller & Söhne's 漢字-Haus_1"],
  ['a long text', 'x'.repeat(500), 'x'.repeat(60)],
])("an email shows %s in an account's name in a harmless form", (_, accountName, shown) => {
  expect(invitationEmail(config, link, { ...invitation, accountName }).text).toContain(`the account "${shown}" on`)
})
