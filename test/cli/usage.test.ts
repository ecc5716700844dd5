import { readdirSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { readArguments } from '../../src/cli/command.ts'
import { commands, findCommand, help, splitName } from '../../src/cli/commands.ts'
import { manual } from '../../src/cli/manual.ts'
import { run } from '../../src/cli/run.ts'
import { describeSettings } from '../../src/cli/settings.ts'
import { type ErrorCode, GridError } from '../../src/errors.ts'

const createAgent = findCommand('create-agent')

test('help settings prints the description, format and default of every setting', () => {
  const text = help('settings')

  for (const { name, description, format, fallback } of describeSettings()) {
    expect(text).toContain(`${name}\n  ${description}\n  Value: ${format}.\n  Default: ${fallback}.`)
  }
})

test("help prints the manual's pages without markers for tests, and the manual contains all documents for users", () => {
  const files = readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.md$/.test(name) && !['architecture.md', 'contributing.md', 'releasing.md'].includes(name))
    .map((name) => `docs/${name}`)

  expect(Object.values(manual).sort()).toEqual(files.sort())
  // Page names must be unique, because the binary stores all pages in one folder.
  expect(new Set(files.map((file) => file.split('/').at(-1))).size).toBe(files.length)
  for (const page of Object.keys(manual)) {
    expect(commands.map(({ name }) => name)).not.toContain(page)
    expect(help()).toContain(page)
    expect(help(page)).toMatch(/^# [A-Z]/)
    expect(help(page)).not.toMatch(/^ *```sh .|^<!--|\.\.\/test\//m)
  }
  expect(() => help('monitorin')).toThrow('Did you mean "monitoring"?')
})

test('options are parsed by name', () => {
  const words = ['--account', 'a-1', '--alias=carol', '--type', 'a2a', '--json']

  expect(readArguments(createAgent, words, {})).toEqual({
    args: { account: 'a-1', alias: 'carol', type: 'a2a' },
    json: true,
    help: false,
    words: [],
  })
})

test('a secret is read from its environment variable, unless its option is given', () => {
  const tryGuardrail = findCommand('try-guardrail')
  const words = ['--account', 'a-1', '--provider', 'webhook', '--text', 'x']
  const tokenOf = (more: string[], env: Record<string, string>) =>
    readArguments(tryGuardrail, [...words, ...more], env).args.token

  expect(tokenOf([], { GUARDRAIL_TOKEN: 'hush' })).toBe('hush')
  expect(tokenOf(['--token', 'given'], { GUARDRAIL_TOKEN: 'hush' })).toBe('given')
  expect(tokenOf([], { GUARDRAIL_TOKEN: '', TOKEN: 'x' })).toBeUndefined()
  expect(help('try-guardrail')).toMatch(/--token TOKEN .* \(safer in GUARDRAIL_TOKEN\)/)
})

test.each([
  ['an unknown option', ['--nope', 'x'], "Unknown option '--nope'"],
  ['an argument without an option', ['carol'], "Unexpected argument 'carol'"],
  ['an option without its value', ['--account'], "Option '--account <value>' argument missing"],
  ['a required option that is missing', ['--account', 'a-1'], 'create-agent needs --alias ALIAS.'],
  ['a required option that is empty', ['--account', 'a-1', '--alias', ''], 'create-agent needs --alias ALIAS.'],
  [
    'a value that is not allowed',
    ['--account', 'a-1', '--alias', 'carol', '--type', 'robot'],
    '--type must be one of mcp, a2a, not "robot".',
  ],
])('a command line with %s is refused with a clear message', (_, words, text) => {
  expect(() => readArguments(createAgent, words, {})).toThrow(
    expect.objectContaining({ code: 'usage', exitCode: 2, message: expect.stringContaining(text) }),
  )
})

test('an unknown command gets the suggestion of a similar one', () => {
  expect(() => findCommand('list_accounts')).toThrow(
    'There is no command "list_accounts". Did you mean "list-accounts"',
  )
})

test('a setting given as an option gets an error that names its environment variable', () => {
  expect(() => readArguments(findCommand('serve'), ['--trusted-proxies', '10.0.0.1'], {})).toThrow(
    "Unknown option '--trusted-proxies'. Settings are environment variables: set TRUSTED_PROXIES. ",
  )
})

test("an error names the user's options, not the fields of the server's operation", async () => {
  const said = vi.spyOn(console, 'error').mockReturnValue()
  const messages: [code: ErrorCode, message: string][] = [
    ['invalid_input', 'accessList requires the accessPolicy allow_list or block_list.'],
    ['invalid_input', 'alias must have at most 32 characters.'],
    ['alias_taken', 'The alias @carol is taken.'],
  ]
  for (const [code, message] of messages) {
    const program = {
      help,
      findCommand,
      splitName,
      runStoreCommand: () => Promise.reject(new GridError(code, message)),
    }
    await runCommandLine(['create-agent', '--account', 'a-1', '--alias', 'carol'], program)
  }

  expect(said.mock.calls.flat()).toEqual([
    '--access-list requires the --access-policy allow_list or block_list.',
    '--alias must have at most 32 characters.',
    'The alias @carol is taken.',
  ])
  said.mockRestore()
})

test('a command that accepts further arguments gets those after -- unchanged', () => {
  const words = ['--claude', '--json', '--', '--json', '--', 'x']

  expect(readArguments(run, words, {})).toEqual({
    args: { claude: 'yes' },
    json: true,
    help: false,
    words: ['--json', '--', 'x'],
  })
  expect(() => readArguments(createAgent, ['--', 'x'], {})).toThrow(/x/)
})
