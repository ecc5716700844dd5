/** The program of the database thread. See docs/architecture.md, "The database thread". */
import type { InValue } from '@libsql/client'
import { parentPort, workerData } from 'node:worker_threads'
import { LocalConnection, type LocalStatement, type RawResult } from './local-connection.ts'
import {
  type Answer,
  GivenTexts,
  type KnownText,
  type Request,
  type SentStatements,
  type Text,
  type ThreadData,
  writeError,
} from './thread-messages.ts'

const port = parentPort!
const connection = new LocalConnection((workerData as ThreadData).path)
const texts = new GivenTexts()

/** Requests are answered in order: a unit by itself, and the single statements between units together. */
port.on('message', (requests: Request[]) => {
  const answers: Answer[] = []
  for (const request of requests) {
    const isSingle = request[0] === 'execute'
    // A commit may take long, so it does not keep back what was answered before it.
    if (!isSingle && answers.length > 0) port.postMessage(answers.splice(0))
    answers.push(answerTo(request))
    if (!isSingle) port.postMessage(answers.splice(0))
  }
  if (answers.length > 0) port.postMessage(answers)
})
port.postMessage('ready')

function answerTo(request: Request): Answer {
  try {
    return run(request)
  } catch (error) {
    return writeError(error)
  }
}

function run(request: Request): Answer {
  switch (request[0]) {
    case 'execute': {
      const text = texts.find(request[1])
      return text.write(connection.execute({ sql: text.sql, args: request[2] }))
    }
    case 'batch':
      return runAll(request[1], (statements) => connection.batch(statements, request[2]))
    case 'migrate':
      return runAll(request[1], (statements) => connection.migrate(statements))
    case 'reconnect':
      connection.reconnect()
      return []
    case 'close':
      connection.close()
      return []
  }
}

function runAll(sent: SentStatements, work: (statements: LocalStatement[]) => RawResult[]): Answer {
  const known: KnownText[] = []
  const statements: LocalStatement[] = []
  for (let i = 0; i < sent.length; i += 2) {
    const text = texts.find(sent[i] as Text)
    known.push(text)
    statements.push({ sql: text.sql, args: sent[i + 1] as InValue[] })
  }
  return work(statements).map((result, i) => known[i].write(result))
}
