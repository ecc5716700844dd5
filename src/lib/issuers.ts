/** OpenID Connect issuers: which strings denote the same issuer, and which issuers may vouch for email addresses. */

const google = 'accounts.google.com'
const publicHosts = `appleid.apple.com login.yahoo.com api.login.yahoo.com www.facebook.com www.linkedin.com github.com
  gitlab.com codeberg.org huggingface.co discord.com slack.com access.line.me www.dropbox.com orcid.org
  login.salesforce.com test.salesforce.com id.twitch.tv oauth.telegram.org`.trim().split(/\s+/)
const microsoft = /^(login\.microsoftonline\.(com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net)$/
/** Microsoft's tenants for any organization, any person, or both. The last one contains all personal accounts. */
const manyTenants = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad']

/**
 * Whether the issuer is open to everyone. Such an issuer never vouches for email addresses. Google is not included,
 * because it vouches for addresses of the organization that a token names.
 */
export function isOfManyTenants(issuer: string): boolean {
  const { hostname, pathname } = new URL(issuer)
  return publicHosts.includes(hostname) ||
    (microsoft.test(hostname) && manyTenants.includes(pathname.split('/')[1].toLowerCase()))
}

/** Whether an issuer may vouch for email addresses in a domain. `organization` is the claim `hd` in its token. */
export function mayVouch(issuer: string, organization: unknown, domain: string): boolean {
  return !isOfManyTenants(issuer) && (new URL(issuer).hostname !== google || organization === domain)
}

/** Whether two texts denote one issuer. They may differ in the final slash, or be the URL of its metadata document. */
export function isSameIssuer(one: string, other: string): boolean {
  return issuerForm(one) === issuerForm(other)
}

/** Returns an issuer without its document's path and without a final slash. */
export function issuerForm(issuer: string): string {
  return issuer.replace(/\/\.well-known\/openid-configuration$/, '').replace(/\/$/, '')
}
