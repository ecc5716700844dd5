/** A systemd unit that runs the grid on this machine. See docs/operating/install.md, "Service". */
import process from 'node:process'
import { resolve } from 'node:path'
import { isBinary } from '../lib/version.ts'
import { type ProcessCommand, usageError } from './command.ts'
import { print, printError } from './output.ts'

/** Only root needs to read the file, because systemd reads it as root. */
const settingsFile = '/etc/agent-grid.env'

/** Only prints the unit, for the operator to review and install as root. */
export const serviceInstall: ProcessCommand = {
  name: 'service install',
  summary: 'Print a systemd unit that runs the grid, and how to install it.',
  options: {
    print: { placeholder: '', description: 'print the unit; nothing is installed', flag: true, required: true },
    'base-url': { placeholder: 'URL', description: 'public address of the grid; default http://localhost:8787' },
    'backup-dir': {
      placeholder: 'DIR',
      description: 'folder for scheduled backups, which the service may write',
      env: 'BACKUP_DIR',
    },
  },
  start(json, args) {
    const baseUrl = args['base-url'] ?? 'http://localhost:8787'
    if (!/^https?:\/\/[\w.:[\]-]+$/.test(baseUrl)) {
      throw usageError(`--base-url must be an address such as https://grid.example.com, not "${baseUrl}".`)
    }
    const backupDir = args['backup-dir']
    if (backupDir !== undefined && !/^\/[\w./-]+$/.test(backupDir)) {
      throw usageError(`--backup-dir must be an absolute path without spaces, not "${backupDir}".`)
    }
    const words = serveWords()
    // The service has a private `/tmp`, and its user may not enter other users' home folders.
    const hidden = [...words, backupDir ?? ''].find((word) => /^\/(tmp|var\/tmp|root|home)\//.test(word))
    if (hidden !== undefined) {
      printError(`The service may not reach ${hidden}. Move the program to /opt, and backups to /srv.`)
    }
    const unit = systemdUnit(words, baseUrl, backupDir)
    print(json ? JSON.stringify({ unit }) : unit)
    return Promise.resolve(0)
  },
}

/** The command line that runs a server: the binary, or a runtime with its options and this program. */
function serveWords(): string[] {
  const [, program] = process.argv
  return [process.execPath, ...(isBinary ? [] : [...process.execArgv, resolve(program)]), 'serve']
}

/**
 * The text of the unit. `DynamicUser` also makes the system read-only and `/tmp` private, and prevents privilege
 * escalation. If the user `agent-grid` exists, systemd uses it, so that it can own the backup folder.
 * @see systemd.service(5), systemd.exec(5): "%" and "$" are doubled, and a quoted word may contain spaces.
 */
function systemdUnit(words: string[], baseUrl: string, backupDir: string | undefined): string {
  const quoted = words.map((word) => `"${word.replace(/["\\]/g, '\\$&').replace(/[%$]/g, '$&$&')}"`).join(' ')
  const folder = backupDir === undefined ? [] : [
    'getent passwd agent-grid || sudo useradd --system agent-grid',
    `sudo install -d -m 700 -o agent-grid ${backupDir}`,
  ]
  const steps = [
    'agent-grid service install --print … | sudo tee /etc/systemd/system/agent-grid.service',
    // The file is created only if it is missing.
    `sudo sh -c 'umask 077; touch ${settingsFile}'`,
    ...folder,
    'sudo systemctl enable --now agent-grid',
  ]
  const settings = [
    `BASE_URL=${baseUrl}`,
    'HOST=127.0.0.1',
    'DATABASE_URL=file:/var/lib/agent-grid/grid.db',
    ...(backupDir === undefined ? [] : [`BACKUP_DIR=${backupDir}`]),
  ]
  return `# Install it with these commands. Secrets and other settings go into ${settingsFile}, as NAME=value${
    backupDir === undefined ? '' : ';\n# BACKUP_KEY must be there before the start'
  }.
${steps.map((step) => `#   ${step}`).join('\n')}
[Unit]
Description=agent-grid, a messaging grid for AI agents
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${quoted}
Environment=${settings.join(' ')}
EnvironmentFile=-${settingsFile}
${
    backupDir === undefined
      ? ''
      : `# "-": a server without the folder starts, and says so.\nReadWritePaths=-${backupDir}\n`
  }StateDirectory=agent-grid
StateDirectoryMode=0700
User=agent-grid
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
