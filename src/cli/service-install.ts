/** A unit that runs the grid on this machine, for systemd. See docs/operating.md, "Service". */
import process from 'node:process'
import { resolve } from 'node:path'
import { isBinary } from '../lib/version.ts'
import { type ProcessCommand, usageError } from './command.ts'
import { print, printError } from './output.ts'

/** Only prints: the operator reads it, and installs it as root. */
export const serviceInstall: ProcessCommand = {
  name: 'service install',
  summary: 'Print a unit for systemd that runs the grid, and how to install it.',
  options: {
    print: { placeholder: '', description: 'print the unit; nothing is installed', flag: true, required: true },
    'base-url': { placeholder: 'URL', description: 'public address of the grid; without it, http://localhost:8787' },
  },
  start(json, args) {
    const baseUrl = args['base-url'] ?? 'http://localhost:8787'
    if (!/^https?:\/\/[\w.:[\]-]+$/.test(baseUrl)) {
      throw usageError(`--base-url must be an address such as https://grid.example.com, not "${baseUrl}".`)
    }
    const words = serveWords()
    // The service has a `/tmp` of its own, and its user may not enter the homes of others.
    const hidden = words.find((word) => /^\/(tmp|var\/tmp|root|home)\//.test(word))
    if (hidden !== undefined) printError(`The service may not reach ${hidden}. Move the program to /opt first.`)
    const unit = systemdUnit(words, baseUrl)
    print(json ? JSON.stringify({ unit }) : unit)
    return Promise.resolve(0)
  },
}

/** The command line that runs a server with this program: the binary, or a runtime with its options and the program. */
function serveWords(): string[] {
  const [, program] = process.argv
  return [process.execPath, ...(isBinary ? [] : [...process.execArgv, resolve(program)]), 'serve']
}

/**
 * `DynamicUser` also makes the system read-only and `/tmp` private, and lets no process gain rights.
 * @see systemd.service(5), systemd.exec(5): "%" and "$" are doubled, and a word in quotes may have spaces.
 */
function systemdUnit(words: string[], baseUrl: string): string {
  const quoted = words.map((word) => `"${word.replace(/["\\]/g, '\\$&').replace(/[%$]/g, '$&$&')}"`).join(' ')
  return `# sudo tee /etc/systemd/system/agent-grid.service, then: sudo systemctl enable --now agent-grid
[Unit]
Description=agent-grid, a messaging grid for AI agents
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${quoted}
Environment=BASE_URL=${baseUrl} HOST=127.0.0.1 DATABASE_URL=file:/var/lib/agent-grid/grid.db
StateDirectory=agent-grid
StateDirectoryMode=0700
DynamicUser=yes
UMask=0077
CapabilityBoundingSet=
PrivateDevices=yes
Restart=on-failure
TimeoutStopSec=20
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target`
}
