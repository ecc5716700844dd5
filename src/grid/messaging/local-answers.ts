/** What local guardrails answer in one send. */

/**
 * Answers about one text. A local guardrail answers from its configuration and the text alone, so those that have the
 * same are asked once: one that checks both directions, or the guardrails of two accounts.
 */
export class LocalAnswers<Answer> {
  #text = ''
  /** By configuration and provider. */
  readonly #answers = new Map<string, Map<string, Answer>>()

  /** The answer that is known, or that of `ask`. */
  of(text: string, { provider, config }: { provider: string; config: string }, ask: () => Answer): Answer {
    if (text !== this.#text) this.#answers.clear()
    this.#text = text
    let byProvider = this.#answers.get(config)
    if (!byProvider) this.#answers.set(config, byProvider = new Map())
    if (!byProvider.has(provider)) byProvider.set(provider, ask())
    return byProvider.get(provider) as Answer
  }
}
