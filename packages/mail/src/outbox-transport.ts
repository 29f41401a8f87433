import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createTransport } from 'nodemailer'
import { type MailTransport, messageOf } from './mail-transport.ts'
import { DAY_MS } from './times.ts'

/**
 * Writes each mail to `<Message-ID>.eml` in a directory (0700, files 0600) and tells its link, for a service that only
 * this machine can reach. Files go after 24 hours.
 *
 * @param options.announce gets one line: `Mail for ana@example.org: http://localhost:8080/…`
 */
export function outboxTransport(options: {
  directory: string
  announce: (line: string) => void
}): MailTransport {
  const { directory } = options
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  return {
    async send(mail) {
      const { message } = await composer.sendMail(messageOf(mail))
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const name = `${mail.messageId.replaceAll(/[^\w.@-]/g, '_')}.eml`
      await writeFile(path.join(directory, name), message, { mode: 0o600 })
      const link = /https?:\/\/\S+/.exec(mail.text)?.[0]
      options.announce(`Mail for ${mail.to}: ${link ?? mail.subject}`)
    },
    async sweep(now) {
      for (const name of await mailsIn(directory)) {
        const file = path.join(directory, name)
        const { mtimeMs } = await stat(file)
        if (mtimeMs < now.getTime() - DAY_MS) await rm(file, { force: true })
      }
    },
    [Symbol.dispose]: () => composer.close(),
  }
}

async function mailsIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.eml'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
