/** A systemd unit that runs a runner permanently for one user. See docs/runners.md, "Run an agent". */

interface ServiceOptions {
  /** With `@`. */
  agent: string
  words: readonly string[]
  folder: string
  /** The `PATH` in which the runner finds the agent's program. */
  path: string
}

/**
 * The unit and, in its first lines, how to install it. It does not contain the key, because the runner reads the
 * connections.
 *
 * @see systemd.service(5), systemd.unit(5): "%" and "$" are doubled in a command line, "%" in other values
 */
export function systemdUserUnit({ agent, words, folder, path }: ServiceOptions): string {
  const broken = [agent, folder, path, ...words].find((value) => /[\p{Cc}\u2028\u2029]/u.test(value))
  // Refused, because a line break would begin a new setting in the unit.
  if (broken !== undefined) {
    throw new Error(`A unit cannot have a line break or another control character: ${JSON.stringify(broken)}`)
  }
  const name = `agent-grid-${agent.replace(/^@/, '')}.service`
  const unit = `~/.config/systemd/user/${name}`
  return `# ${unit}
# mkdir -p ~/.config/systemd/user, write this into that file, then:
# systemctl --user daemon-reload && systemctl --user enable --now ${name}
# So that it also runs while you are not logged in: loginctl enable-linger
[Unit]
Description=Runs ${agent} of a messaging grid while no person attends it
StartLimitIntervalSec=0

[Service]
ExecStart=${words.map(quoted).join(' ')}
WorkingDirectory=${folder.replaceAll('%', '%%')}
Environment=${quoted(`PATH=${path}`).replaceAll('$$', '$')}
Restart=always
RestartSec=5
# The command line is wrong, or a person has to act.
RestartPreventExitStatus=2 3
KillMode=mixed
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target`
}

function quoted(word: string): string {
  return `"${word.replace(/["\\]/g, '\\$&').replace(/[%$]/g, '$&$&')}"`
}
