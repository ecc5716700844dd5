/** What services call the things that they find, as senders may read it. */
import { plainName } from '../../lib/names.ts'

/** At most so many kinds of one verdict are kept. */
const maxKinds = 20
const maxLength = 64

/**
 * The kinds of a verdict from the labels of a service, such as `EMAIL_ADDRESS`: `email address`. Services are not
 * trusted, and senders and their models read the kinds. So what a label has besides letters, digits and a few signs is
 * removed, and a verdict has few and short ones. `fallback` stands for labels of which nothing is left.
 */
export function kindsOf(labels: readonly string[], fallback: string): string[] {
  return [...new Set(labels.map((label) => kindOf(label) || fallback))].slice(0, maxKinds)
}

function kindOf(label: string): string {
  return plainName(label.slice(0, 2 * maxLength).replace(/[^\p{L}\p{M}\p{N}\s,.'()&+/-]/gu, ' '), maxLength)
    .toLowerCase()
}
