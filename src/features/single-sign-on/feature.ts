/** Sign-in through an OpenID Connect provider: the grid's, or an account's. See docs/people.md, "Single sign-on". */
import type { Feature } from '../../feature.ts'
import { hour, minute } from '../../lib/time.ts'
import { domainWords, ssoActions, ssoSubject } from './card.tsx'
import { identitiesCard, identityActions } from './identities-card.tsx'
import { letInSignIns, vouchingIssuers } from './joining.ts'
import { confirmingProvider, ssoChoices, ssoPages, ssoPathOfAccount, unlinkedPath } from './pages.tsx'
import { checkDomains, missingDomains } from './provider.ts'
import { notices, phrases } from './words.ts'

export const singleSignOn: Feature = {
  name: 'single-sign-on',
  web: {
    pages: ssoActions,
    publicPages: ssoPages,
    accountSubjects: [ssoSubject],
    security: { card: identitiesCard, forms: identityActions },
    signIn: { choices: ssoChoices, proof: confirmingProvider, pathOfAccount: ssoPathOfAccount, unlinkedPath },
    notices: Object.values(notices),
    phrases,
    conditions: { domain: domainWords },
  },
  duties: (store) => [{ name: 'domains', everyMs: hour, firstMs: minute, run: () => checkDomains(store) }],
  hooks: { joined: letInSignIns, vouchingIssuers, conditions: missingDomains },
}
