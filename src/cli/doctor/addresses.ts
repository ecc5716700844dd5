import { type Config, describeMixedAddresses } from '../../config.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Whether others than this machine can reach the grid. */
export function isPublic({ baseUrl }: Config): boolean {
  return !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(baseUrl).hostname)
}

export function checkAddresses(config: Config): Finding {
  const { baseUrl, appUrl, trustedProxies } = config
  const mixed = describeMixedAddresses(config)
  if (mixed) return warning('addresses', mixed, 'Set BASE_URL and APP_URL to https addresses.')
  if (isPublic(config) && baseUrl.startsWith('http:')) {
    return warning(
      'addresses',
      `The grid is served at ${baseUrl}: keys and passwords cross the network unencrypted.`,
      'Put a TLS proxy in front, and set BASE_URL to its https address.',
    )
  }
  if (baseUrl.startsWith('https:') && trustedProxies.length === 0) {
    return warning(
      'addresses',
      'A proxy adds the encryption, but none is trusted: all clients share the limits of its address.',
      'Set TRUSTED_PROXIES to the address of the proxy.',
    )
  }
  return ok('addresses', appUrl === baseUrl ? `The grid is at ${baseUrl}.` : `The grid is at ${baseUrl} and ${appUrl}.`)
}
