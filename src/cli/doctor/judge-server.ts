/** What the facts of a running server mean. */
import type { Config } from '../../config.ts'
import { version } from '../../lib/version.ts'
import { isOfGrid } from '../health.ts'
import type { ServerFacts } from './inside.ts'
import { broken, counted, type Finding, ok, skipped, warning } from './report.ts'

/** What `/readyz` answered at the address of the settings; undefined if nothing did. */
export interface Readiness {
  status: number
  text: string
}

/** More than a group commit takes. */
const manyUnits = 256

/** `facts` is undefined if no server answers commands. */
export function judgeServer(
  config: Config,
  readiness: Readiness | undefined,
  facts: ServerFacts | undefined,
): Finding[] {
  return [
    judgeReadiness(config, readiness, facts),
    judgeVersion(facts),
    ...judgeQueue(facts),
    judgeProxies(config, facts),
  ]
}

function judgeReadiness({ port }: Config, readiness: Readiness | undefined, facts: ServerFacts | undefined): Finding {
  if (readiness && !isOfGrid(readiness)) {
    return broken(
      'server',
      `What answers on port ${port} is no agent-grid.`,
      'Stop that program, or set PORT to another port, and start the grid.',
    )
  }
  if (readiness?.status === 200) {
    return ok('server', `The grid is ready on port ${port}${facts ? `, on ${facts.runtime}` : ''}.`)
  }
  if (readiness?.status === 421) {
    return broken(
      'server',
      `What answers on port ${port} does not know the host of BASE_URL.`,
      'Run the doctor with the settings of the grid.',
    )
  }
  if (readiness) {
    return broken(
      'server',
      `The grid on port ${port} is not ready: ${readiness.text}`,
      'See "Troubleshooting" in docs/operations.md, and the log.',
    )
  }
  if (facts) {
    return warning(
      'server',
      `A server holds the database, but none answers on port ${port}.`,
      'Run the doctor with the settings of the grid (PORT, HOST); if they are the same, restart the grid.',
    )
  }
  return ok('server', 'The grid is stopped.')
}

function judgeVersion(facts: ServerFacts | undefined): Finding {
  if (facts && facts.version !== version) {
    return warning(
      'version',
      `This program is ${version}, and the server that runs is ${facts.version}.`,
      'Restart the grid, so that it runs the installed version.',
    )
  }
  return ok('version', `This is ${version}${facts ? ', and so is the server' : ''}.`)
}

function judgeQueue(facts: ServerFacts | undefined): Finding[] {
  if (facts?.isOverloaded) {
    return [warning(
      'queue',
      'The grid is overloaded, and refuses calls.',
      'Look for clients that call without a pause; run several processes, or a faster machine.',
    )]
  }
  if (facts && facts.waitingUnits > manyUnits) {
    return [warning(
      'queue',
      `${facts.waitingUnits} writes wait for the disk.`,
      'If the number stays, the disk is too slow for what is sent.',
    )]
  }
  return []
}

function judgeProxies({ trustedProxies }: Config, facts: ServerFacts | undefined): Finding {
  if (!facts) return skipped('proxies', 'Only a running grid on a local file tells what proxies send.')
  const { read, ignored, ignoredFrom } = facts.proxies
  if (ignored > 0 && read === 0) {
    return warning(
      'proxies',
      `A proxy at ${ignoredFrom} is not trusted, so its clients share one limit: ${counted(ignored, 'request')}.`,
      `Set TRUSTED_PROXIES=${[...trustedProxies, ignoredFrom].join(',')} if the proxy is yours.`,
    )
  }
  if (ignored > 0) {
    return ok(
      'proxies',
      `Proxies are trusted. Others named clients of their own, and were not believed: ${counted(ignored, 'request')}.`,
    )
  }
  return ok('proxies', read > 0 ? 'Proxies are trusted, and name their clients.' : 'No request came through a proxy.')
}
