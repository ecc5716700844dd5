/** The grid's settings, with those of optional features. Commands without a server read only the core settings. */
import * as core from '../config.ts'
import { featureSettings } from '../features.ts'

export function readConfig(env: Record<string, string | undefined>): core.Config {
  return core.readConfig(env, featureSettings)
}

export function describeSettings(): core.SettingDescription[] {
  return core.describeSettings(featureSettings)
}
