/**
 * How each version represents the push configuration of a task's client. See docs/protocol/a2a.md, "Push
 * notifications".
 */
import type { PushConfigInput } from '../grid/tasks/push-configs.ts'
import { newId } from '../lib/id.ts'
import type { PushConfig } from '../store/account/push-configs.ts'
import type { A2aVersion } from './codec.ts'
import type { ParamReader } from './param-reader.ts'

/** The id of a 0.3 configuration for which the client chose none. */
export const defaultId03 = 'default'

const maxSecretLength = 4_000

/** Reads a push configuration. Fails with `invalid_input`. Does not check whether the URL is allowed. */
export function readPushConfig(config: ParamReader, version: A2aVersion): PushConfigInput {
  const url = config.text('url', 2_000)
  if (!url) throw config.invalid('url', 'must be the address of a webhook')
  return {
    configId: config.id('id') ?? (version === '0.3' ? defaultId03 : newId()),
    url,
    token: readSecret(config, 'token'),
    ...readAuthentication(config.object('authentication'), version),
    version,
    urlField: config.pathOf('url'),
  }
}

function readAuthentication(
  authentication: ParamReader | undefined,
  version: A2aVersion,
): Pick<PushConfigInput, 'scheme' | 'credentials'> {
  if (!authentication) return {}
  const name = version === '0.3' ? 'schemes' : 'scheme'
  const scheme = version === '0.3' ? authentication.texts(name)?.[0] : authentication.text(name)
  const credentials = readSecret(authentication, 'credentials')
  if (!scheme && credentials === undefined) return {}
  // RFC 9110 §11.1, limited to characters that occur in actual schemes.
  if (!scheme || !/^[A-Za-z][\w.+-]{0,99}$/.test(scheme)) {
    throw authentication.invalid(name, 'must name the scheme of the header Authorization, such as Bearer')
  }
  return { scheme, credentials }
}

/** Reads a secret. It must be printable ASCII, because it is sent in a header. */
function readSecret(object: ParamReader, name: string): string | undefined {
  const secret = object.text(name, maxSecretLength)
  if (secret !== undefined && !/^[\x20-\x7e]*$/.test(secret)) throw object.invalid(name, 'must be printable ASCII')
  return secret
}

/** Omits the secrets, which are never returned. */
export function writePushConfig({ taskId, configId: id, url, scheme }: PushConfig, version: A2aVersion): unknown {
  if (version === '1.0') return { taskId, id, url, ...(scheme !== null && { authentication: { scheme } }) }
  const authentication = scheme === null ? {} : { authentication: { schemes: [scheme] } }
  return { taskId, pushNotificationConfig: { id, url, ...authentication } }
}
