/** What leaves the process, on each runtime: requests (security N1, N3), mail (7.3), and passwords (K2). */
import { describe, expect, test } from 'vitest'
import { runScript, runtimes } from '../support/process.ts'

describe.each(runtimes)('on %s', (runtime) => {
  test('nothing private is reached, hostile servers do no harm, and a friendly one answers', async () => {
    const { stdout, stderr } = await runScript(runtime, 'test/e2e/outbound-script.ts', [])

    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      connections: 0,
      reached: [],
      metadata: 'refused',
      answered: [],
      friendly: { hello: 'world' },
    })
  })
})
