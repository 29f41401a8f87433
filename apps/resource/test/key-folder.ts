import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { generateHashKey, generateKeyEncryptionKey } from '@plainpath/sealing'
import { CLIENT_SECRET } from './fake-authorization-server.ts'

/** Creates a folder with new keys and the client secret. Disposing `resources` removes it. Returns its path. */
export function createKeyFolder(resources: AsyncDisposableStack): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'plainpath-resource-'))
  resources.defer(() => rmSync(folder, { recursive: true }))
  writeFileSync(path.join(folder, 'kek'), `${generateKeyEncryptionKey()}\n`)
  writeFileSync(path.join(folder, 'hash-key'), `${generateHashKey()}\n`)
  writeFileSync(path.join(folder, 'client-secret'), `${CLIENT_SECRET}\n`)
  return folder
}
