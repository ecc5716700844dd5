import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { runCommand } from '../support/process.ts'

const install = (...words: string[]) => runCommand('bun', ['service', 'install', '--print', ...words], {})

test('the unit for systemd starts this program with its state folder, as a user without rights', async () => {
  const { code, stdout } = await install('--base-url', 'https://grid.example.com')

  expect(code).toBe(0)
  expect(stdout).toMatch(/^ExecStart="\/[^"]+\/bun" "\/[^"]+\/src\/main\.ts" "serve"$/m)
  expect(stdout).toMatch(
    /^Environment=BASE_URL=https:\/\/grid\.example\.com HOST=127\.0\.0\.1 DATABASE_URL=file:\/var\/lib/m,
  )
  for (const line of ['DynamicUser=yes', 'StateDirectory=agent-grid', 'StateDirectoryMode=0700', 'TimeoutStopSec=20']) {
    expect(stdout.split('\n')).toContain(line)
  }
})

test('a program that the service may not reach is named next to the unit', async () => {
  const folder = mkdtempSync('/tmp/agent-grid-service-')
  symlinkSync(resolve('src'), join(folder, 'src'))
  const program = join(folder, 'src/main.ts')
  // Node, which knows the path as it was given.
  const args = ['--preserve-symlinks-main', '--import', 'tsx', program, 'service', 'install', '--print']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
  rmSync(folder, { recursive: true })

  expect(stdout).toMatch(/^# sudo tee/)
  expect(stderr).toContain(`The service may not reach ${program}`)
  expect((await install()).stderr).not.toContain('may not reach /usr')
})

test('nothing is installed, and an address that could end a line is refused', async () => {
  const without = await runCommand('bun', ['service', 'install'], {})
  const twoLines = await install('--base-url', 'http://a.example\nExecStart=x')

  expect(without).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('service install needs --print.'),
  })
  expect(twoLines).toMatchObject({ code: 2, stderr: expect.stringContaining('--base-url must be an address') })
})
