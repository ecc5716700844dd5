import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { runCommand } from '../support/process.ts'

const install = (...words: string[]) => runCommand('bun', ['service', 'install', '--print', ...words], {})

test('the systemd unit starts this program as an unprivileged user, with its state folder', async () => {
  const { code, stdout } = await install('--base-url', 'https://grid.example.com')

  expect(code).toBe(0)
  expect(stdout).toMatch(/^ExecStart="\/[^"]+\/bun" "\/[^"]+\/src\/main\.ts" "serve"$/m)
  expect(stdout).toMatch(
    /^Environment=BASE_URL=https:\/\/grid\.example\.com HOST=127\.0\.0\.1 DATABASE_URL=file:\/var\/lib/m,
  )
  expect(stdout).not.toContain('ReadWritePaths')
  for (
    const line of [
      'DynamicUser=yes',
      'EnvironmentFile=-/etc/agent-grid.env',
      'StateDirectory=agent-grid',
      'StateDirectoryMode=0700',
      'TimeoutStopSec=20',
    ]
  ) {
    expect(stdout.split('\n')).toContain(line)
  }
})

test("the systemd unit allows writes to the backup folder, which is created for the unit's user", async () => {
  const { stdout } = await install('--backup-dir', '/srv/grid')
  const inSettings = await runCommand('bun', ['service', 'install', '--print'], { BACKUP_DIR: '/srv/grid' })

  for (
    const line of ['ReadWritePaths=-/srv/grid', 'User=agent-grid', '#   sudo install -d -m 700 -o agent-grid /srv/grid']
  ) {
    expect(stdout.split('\n')).toContain(line)
  }
  expect(stdout).toMatch(/^Environment=.* BACKUP_DIR=\/srv\/grid$/m)
  expect(inSettings.stdout).toBe(stdout)
  expect(await install('--backup-dir', 'backups')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--backup-dir must be an absolute path'),
  })
})

test('the commands above the unit create a settings file that only root can read, and keep an existing one', async () => {
  const folder = mkdtempSync('/tmp/agent-grid-service-')
  const file = join(folder, 'agent-grid.env')
  const { stdout } = await install()
  const [, command] = stdout.match(/^# +sudo (sh -c .*)$/m)!
  const run = () => execFileSync('sh', ['-c', command.replace('/etc/agent-grid.env', file)])

  run()
  expect(statSync(file).mode & 0o777).toBe(0o600)
  writeFileSync(file, 'PORT=1')
  run()
  expect(readFileSync(file, 'utf8')).toBe('PORT=1')
  rmSync(folder, { recursive: true })
})

test.runIf(isLong)('service install warns about a program that the service cannot access', async () => {
  const folder = mkdtempSync('/tmp/agent-grid-service-')
  symlinkSync(resolve('src'), join(folder, 'src'))
  const program = join(folder, 'src/main.ts')
  // The test uses Node, which preserves the given path.
  const args = ['--preserve-symlinks-main', '--import', 'tsx', program, 'service', 'install', '--print']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
  rmSync(folder, { recursive: true })

  expect(stdout).toMatch(/^# Install it/)
  expect(stderr).toContain(`The service may not reach ${program}`)
  expect((await install()).stderr).not.toContain('may not reach /usr')
})

test('service install requires --print, and refuses a value that could end a line of the unit', async () => {
  const without = await runCommand('bun', ['service', 'install'], {})
  const twoLines = await install('--base-url', 'http://a.example\nExecStart=x')

  expect(without).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('service install needs --print.'),
  })
  expect(twoLines).toMatchObject({ code: 2, stderr: expect.stringContaining('--base-url must be an address') })
})
