/** The documentation pages that `agent-grid help PAGE` prints. Packages and binaries contain them. */
import { readFileSync } from 'node:fs'
import { isBinary, isPackage } from '../lib/version.ts'

/** Each page's name and file. The build of the binary reads this list. */
export const manual: Record<string, string> = {
  start: 'docs/start.md',
  install: 'docs/operating/install.md',
  proxies: 'docs/operating/proxies.md',
  backups: 'docs/operating/backups.md',
  upgrades: 'docs/operating/upgrades.md',
  accounts: 'docs/operating/accounts.md',
  monitoring: 'docs/operating/monitoring.md',
  reference: 'docs/operating/reference.md',
  web: 'docs/web.md',
  people: 'docs/people.md',
  slack: 'docs/slack.md',
  clients: 'docs/clients.md',
  'client-reference': 'docs/client-reference.md',
  runners: 'docs/runners.md',
  conversations: 'docs/conversations.md',
  delivery: 'docs/delivery.md',
  reliability: 'docs/reliability.md',
  security: 'docs/security.md',
  stability: 'docs/stability.md',
  protocol: 'docs/protocol/README.md',
  tour: 'docs/protocol/tour.md',
  messages: 'docs/protocol/messages.md',
  reserving: 'docs/protocol/reservations.md',
  signup: 'docs/protocol/signup.md',
  mcp: 'docs/protocol/mcp.md',
  a2a: 'docs/protocol/a2a.md',
  'remote-agents': 'docs/protocol/remote-agents.md',
  rest: 'docs/protocol/rest.md',
  webhooks: 'docs/protocol/webhooks.md',
  incoming: 'docs/protocol/incoming.md',
  archive: 'docs/protocol/archive.md',
  guardrails: 'docs/protocol/guardrails.md',
  oauth: 'docs/protocol/oauth.md',
}

/**
 * A page as Markdown. Omits links to tests, which exist only in the repository, and markers for tests and `npm run
 * docs`.
 */
export function readPage(name: string): string {
  const file = manual[name]
  // A binary has all files in one folder. A package has the program in src/, a checkout in dist/src/ or src/cli/.
  const path = isBinary ? `./${file.split('/').at(-1)}` : `${isPackage ? '..' : '../..'}/${file}`
  const text = readFileSync(new URL(path, import.meta.url), 'utf8')
  return text.replace(/^( *```sh) .*$/gm, '$1').replace(/^<!-- .* -->\n\n?/gm, '')
    .replace(/\s*\((?:(?:, )?\[[^\]]+\]\((?:\.\.\/)+test\/[^)]+\))+\)/g, '')
    // Other links to files that exist only in the sources are replaced by their text.
    .replace(/\[([^\]]+)\]\((?:\.\.\/)+(?:test|src)[^)]*\)/g, '$1').trimEnd()
}
