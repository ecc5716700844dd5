import { GridError } from '../errors.ts'

/** The configuration of a provider, from the option `--config`. Fails with `invalid_input` unless it is JSON. */
export function readConfigOption(text = '{}'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new GridError('invalid_input', 'config: must be JSON', { field: 'config' })
  }
}
