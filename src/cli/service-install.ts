/** A unit that runs the grid on this machine, for systemd or launchd. See docs/operations.md, "Service". */
import process from 'node:process'
import { resolve } from 'node:path'
import { isBinary } from '../lib/version.ts'
import { type ProcessCommand, usageError } from './command.ts'

const systems = ['systemd', 'launchd'] as const
type System = (typeof systems)[number]

/** Only prints: the operator reads it, and installs it as root. */
export const serviceInstall: ProcessCommand = {
  name: 'service install',
  summary: 'Print a unit for systemd or launchd that runs the grid, and how to install it.',
  options: {
    print: { placeholder: '', description: 'print the unit; nothing is installed', flag: true, required: true },
    for: {
      placeholder: 'SYSTEM',
      description: `${systems.join(' or ')}; without it, that of this machine`,
      oneOf: systems,
    },
    'base-url': { placeholder: 'URL', description: 'public address of the grid; without it, http://localhost:8787' },
  },
  start(json, args) {
    const baseUrl = args['base-url'] ?? 'http://localhost:8787'
    if (!/^https?:\/\/[\w.:[\]-]+$/.test(baseUrl)) {
      throw usageError(`--base-url must be an address such as https://grid.example.com, not "${baseUrl}".`)
    }
    const system = args.for as System | undefined ?? (process.platform === 'darwin' ? 'launchd' : 'systemd')
    const hidden = serveWords().find(isHidden)
    if (hidden !== undefined) console.error(hiddenHint(hidden))
    const unit = (system === 'launchd' ? launchdUnit : systemdUnit)(serveWords(), baseUrl)
    console.log(json ? JSON.stringify({ system, unit }) : unit)
    return Promise.resolve(0)
  },
}

/** The command line that runs a server with this program: the binary, or a runtime with its options and the program. */
function serveWords(): string[] {
  const [, program] = process.argv
  return [process.execPath, ...(isBinary ? [] : [...process.execArgv, resolve(program)]), 'serve']
}

/** The service has a `/tmp` of its own, and its user may not enter the homes of others. */
function isHidden(word: string): boolean {
  return /^\/(tmp|var\/tmp|root|home|Users)\//.test(word)
}

function hiddenHint(path: string): string {
  return `The service cannot be sure to reach ${path}, which is in a temporary folder or somebody's home. ` +
    'Move the program first, for example to /usr/local/bin or /opt, and print the unit with the program there.'
}

/** @see systemd.service(5), systemd.exec(5): "%" and "$" are doubled, and a word in quotes may have spaces. */
function systemdUnit(words: string[], baseUrl: string): string {
  const quoted = words.map((word) => `"${word.replace(/["\\]/g, '\\$&').replace(/[%$]/g, '$&$&')}"`).join(' ')
  return `# sudo tee /etc/systemd/system/agent-grid.service, then: sudo systemctl enable --now agent-grid
# The data is in /var/lib/agent-grid. Other settings: Environment= or EnvironmentFile=, see "agent-grid help settings".
[Unit]
Description=agent-grid, a messaging grid for AI agents
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${quoted}
Environment=BASE_URL=${baseUrl} HOST=127.0.0.1 DATABASE_URL=file:/var/lib/agent-grid/grid.db
WorkingDirectory=/var/lib/agent-grid
StateDirectory=agent-grid
StateDirectoryMode=0700
DynamicUser=yes
UMask=0077
Restart=on-failure
RestartSec=2
TimeoutStopSec=20
LimitNOFILE=65536

# What the grid does not need. It runs machine code that it makes (JavaScript), so memory may be made executable.
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target`
}

/** @see launchd.plist(5) */
function launchdUnit(words: string[], baseUrl: string): string {
  const text = (value: string) => `<string>${value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</string>`
  const folder = '/usr/local/var/agent-grid'
  const variables = { BASE_URL: baseUrl, HOST: '127.0.0.1', DATABASE_URL: `file:${folder}/grid.db` }
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- sudo install -d -m 700 -o _agentgrid ${folder} (create the user _agentgrid before), then
     sudo tee /Library/LaunchDaemons/agent-grid.plist; sudo launchctl bootstrap system /Library/LaunchDaemons/agent-grid.plist -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>agent-grid</string>
  <key>ProgramArguments</key>
  <array>${words.map((word) => `\n    ${text(word)}`).join('')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>${Object.entries(variables).map(([name, value]) => `\n    <key>${name}</key>${text(value)}`).join('')}
  </dict>
  <key>WorkingDirectory</key>${text(folder)}
  <key>UserName</key><string>_agentgrid</string>
  <key>Umask</key><integer>63</integer>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>20</integer>
  <key>StandardErrorPath</key><string>${folder}/agent-grid.log</string>
</dict>
</plist>`
}
