/** Running one check until its deadline. */
import { ProviderFailure } from './provider-failure.ts'
import type { GuardedText, GuardrailCheck, ProviderTools, Verdict } from './provider.ts'

/** What a check says of a text, at the latest when `tools.signal` is aborted: a late answer is dropped. */
export async function runCheck(check: GuardrailCheck, guarded: GuardedText, tools: ProviderTools): Promise<Verdict> {
  const { signal } = tools
  if (signal.aborted) throw timeout()
  const verdict = check(guarded, tools)
  if (!(verdict instanceof Promise)) return verdict
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(timeout())
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([verdict, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function timeout(): ProviderFailure {
  return new ProviderFailure('timeout', 'The provider gave no answer in time.')
}
