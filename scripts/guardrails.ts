/**
 * `npm run guardrails`: what the local guardrails cost for a text of 10,000 characters, in milliseconds of processor
 * time. The aim is 1 ms for each, and for each expression. See docs/operations.md, "Scripts".
 */
import process from 'node:process'
import type { GuardrailCheck } from '../src/guardrails/provider.ts'
import { providers } from '../src/guardrails/providers.ts'

const aimMs = 1
const length = 10_000
const filled = (text: string) => [...text.repeat(Math.ceil(length / [...text].length))].slice(0, length).join('')

const texts: Record<string, string> = {
  'prose': filled('The deployment works again. Ann asked Bob on Monday to look at the logs of the cluster in Berlin. '),
  'personal': filled('Build 42 at 10:30 works, thanks to alice@example.com and Bob (tel. 030 901820). Größe 你好. '),
  'Chinese': filled('部署在中午完成了，所有的测试都通过了，谢谢大家的耐心和帮助。'),
  'code': filled('const sum = items.map(({ price }) => price * 1.19).reduce((a, b) => a + b, 0) // in EUR\n'),
  'table': filled('2024-01-02,1234.56,98765432,foo-bar-12\n'),
  'one letter': 'a'.repeat(length),
}

const configs: [provider: string, config: unknown][] = [
  ['phrases', { preset: 'all', phrases: Array.from({ length: 500 }, (_, i) => `code name ${i} of the project`) }],
  ['pii', {}],
  ['invisible-text', {}],
  ['length', { maxCharacters: 5_000 }],
  ['language', { languages: ['en', 'de'] }],
  ...['(?i)\\b(?:secret|internal|confidential)\\b', '[\\w.+-]+@[\\w-]+\\.[a-z]{2,}', '(a+)+$', '\\d{3}-\\d{2}-\\d{4}']
    .map((pattern): [string, unknown] => ['patterns', { patterns: [pattern] }]),
]

console.log(`Milliseconds of processor time for ${length} characters; "!" is above ${aimMs} ms.`)
console.log(''.padEnd(46) + Object.keys(texts).map((name) => name.padStart(12)).join(''))
for (const [id, config] of configs) {
  const provider = providers.find((provider) => provider.id === id)!
  const check = provider.prepare(provider.config.parse(config))
  await ask(check, '')
  const costs = Object.values(texts).map((text) => costOf(check, text))
  const name = id === 'patterns' ? `patterns ${(config as { patterns: string[] }).patterns[0]}` : id
  console.log(name.padEnd(46) + costs.map((ms) => `${ms.toFixed(2)}${ms > aimMs ? '!' : ' '}`.padStart(12)).join(''))
}

function ask(check: GuardrailCheck, text: string) {
  return check({ text, direction: 'outbound', sender: '@a', recipient: '@b' }, {
    fetch: () => Promise.reject(new Error('A local guardrail asks nobody')),
    now: Date.now,
    signal: new AbortController().signal,
  })
}

/** The median of rounds of some checks, after the code was compiled. */
function costOf(check: GuardrailCheck, text: string): number {
  const round = () => {
    const startedAt = process.cpuUsage()
    for (let i = 0; i < 10; i++) ask(check, text)
    const { user, system } = process.cpuUsage(startedAt)
    return (user + system) / 1000 / 10
  }
  for (let i = 0; i < 5; i++) round()
  return Array.from({ length: 9 }, round).sort((a, b) => a - b)[4]
}
