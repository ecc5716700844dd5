/** An SMTP server that accepts and stores every email. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

interface ReceivedEmail {
  /** The sender in the envelope. */
  from: string
  /** The recipients in the envelope. */
  to: string[]
  /** Header and body as received. */
  raw: string
}

export interface TestSmtpServer {
  url: string
  received: ReceivedEmail[]
  close(): Promise<void>
}

/** Starts the server on a free port. `refuse` may return an SMTP reply code to refuse an attempt's recipient. */
export async function startSmtpServer(
  refuse: (attempt: number) => number | undefined = () => undefined,
): Promise<TestSmtpServer> {
  const received: ReceivedEmail[] = []
  let attempts = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onRcptTo(_address, _session, done) {
      const responseCode = refuse(++attempts)
      if (responseCode === undefined) done()
      else done(Object.assign(new Error('refused'), { responseCode }))
    },
    onData(stream, session, done) {
      let raw = ''
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => raw += text)
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address), raw })
        done()
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((ready) => void server.listen(0, '127.0.0.1', () => ready()))
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    received,
    close: () => new Promise((closed) => server.close(() => closed())),
  }
}
