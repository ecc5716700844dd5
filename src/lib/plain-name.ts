/** Names: of accounts, people, keys, skills and guardrails. See docs/security.md, "Names and aliases". */
import { hasInvisible } from './invisible-text.ts'

/**
 * Characters that make a name look like another one, or empty: controls, direction marks, fillers, tags. Joiners and
 * variation selectors are left to `hasInvisible`, because emoji and some scripts need them.
 */
const deceptive =
  /(?![\u200c\u200d\ufe0e\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/u

/** Whether a name shows all that it consists of. A text is cleaned; a name is refused, because it is looked up. */
export function isPlainName(name: string): boolean {
  return !deceptive.test(name) && !hasInvisible(name)
}
