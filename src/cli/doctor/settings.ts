import { closestMatch } from 'leven'
import { type Config, ConfigError, describeSettings, readConfig } from '../../config.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

const list = '"agent-grid help settings" lists all settings.'

/** The settings, or undefined if they are invalid; and whether a variable looks like a misspelt one. */
export function checkSettings(env: Record<string, string | undefined>): { config?: Config; findings: Finding[] } {
  const nearMisses = findNearMisses(env)
  try {
    const config = readConfig(env)
    return { config, findings: nearMisses.length > 0 ? nearMisses : [ok('settings', 'The settings are valid.')] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { findings: [broken('settings', error.message.replaceAll('\n', ' '), list), ...nearMisses] }
  }
}

function findNearMisses(env: Record<string, string | undefined>): Finding[] {
  const settings = describeSettings().map(({ name }) => name)
  return Object.keys(env).filter((name) => !settings.includes(name)).flatMap((name) => {
    // A quarter of the letters may be wrong: HOME is not meant to be HOST.
    const meant = closestMatch(name.toUpperCase(), settings, { maxDistance: Math.floor(name.length / 4) })
    return meant === undefined ? [] : [warning('settings', `${name} is no setting. Is ${meant} meant?`, list)]
  })
}
