import { spawn } from 'node:child_process'
import process from 'node:process'

/** Open an address in the browser of the person, if there is one. */
export function openBrowser(address: string): void {
  const [command, ...args] = process.platform === 'darwin' ? ['open', address] : process.platform === 'win32'
    // `start` of the shell would take & for its own.
    ? ['rundll32', 'url.dll,FileProtocolHandler', address]
    : ['xdg-open', address]
  const child = spawn(command, args, { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
