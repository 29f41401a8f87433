import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { openRepository } from '../repository.ts'
import { STORAGE_PAGE, storagePage } from './storage-page.ts'

const root = path.resolve(import.meta.dirname, '../..')
writeFileSync(path.join(root, STORAGE_PAGE), storagePage(openRepository(root)))
