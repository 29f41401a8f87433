import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { openRepository } from '../repository.ts'
import { REQUIREMENTS_PAGE, requirementsPage } from './requirements-page.ts'

const root = path.resolve(import.meta.dirname, '../..')
writeFileSync(path.join(root, REQUIREMENTS_PAGE), requirementsPage(openRepository(root)))
