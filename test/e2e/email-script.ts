/** One mail, sent as the grid sends it, on whatever runtime runs this: arguments are the server and the address. */
import process from 'node:process'
import { readConfig } from '../../src/config.ts'
import { claimMail } from '../../src/grid/people/email-templates.ts'
import { createLog } from '../../src/log.ts'
import { createMail } from '../../src/email.ts'

async function main(): Promise<void> {
  const [smtpUrl, to] = process.argv.slice(2)
  const config = readConfig({ SMTP_URL: smtpUrl, MAIL_FROM: 'grid@grid.example' })
  const mail = createMail({ config, log: createLog('info', (line) => console.log(line)), printLink: () => {} })
  mail.send({ to, ...claimMail(config, `${config.appUrl}/claim/token`, 'zoe') })
  mail.send({ to: `${to}, bob@evil.example`, ...claimMail(config, `${config.appUrl}/claim/token`, 'zoe') })
  await mail.close(20_000)
}

main()
