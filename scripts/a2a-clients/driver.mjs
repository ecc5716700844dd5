/**
 * Code shared by all frameworks' drivers. A driver is a separate program, because each framework runs in its own folder
 * and on a suitable Node version. `AGENT_URL` is the agent's URL with a final slash, `AGENT_KEY` the calling agent's
 * key. The driver prints one line of JSON with the outcome of each step.
 */
import process from 'node:process'

const realFetch = globalThis.fetch

/** The texts that each step sends to the agent, which is the responder that the tests also use. */
const requests = { send: ['How are you?'], stream: ['tck-stream-chunked'], turn: ['tck-multi-turn', 'done'] }

/** Calls `fetch` with the key. */
export function withKey(input, init = {}) {
  const headers = new Headers(init.headers)
  headers.set('Authorization', `Bearer ${process.env.AGENT_KEY}`)
  return realFetch(input, { ...init, headers })
}

/** Loads a package of the framework. The name is not a literal, because the package is not installed here. */
export function load(name) {
  return import(name)
}

/**
 * Runs each step and prints the outcomes. `send(text)` resolves to the answer, `stream(text)` to the answer's pieces,
 * and `turn(text, answer)` to the question and, if the framework can answer it, the result. An unsupported step is
 * undefined.
 */
export async function report(steps) {
  // Saves `console.log` before replacing it, because frameworks print their own output.
  const print = console.log
  console.log = () => {}
  const results = {}
  for (const [name, args] of Object.entries(requests)) {
    try {
      results[name] = steps[name] ? { result: await steps[name](...args) } : { missing: true }
    } catch (error) {
      results[name] = { error: error?.stack ?? String(error) }
    }
  }
  print(JSON.stringify(results))
  process.exit(0)
}
