import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { openRepository } from '../repository.ts'
import { DEPENDENCIES_PAGE, dependenciesPage } from './dependencies-page.ts'

const root = path.resolve(import.meta.dirname, '../..')
writeFileSync(path.join(root, DEPENDENCIES_PAGE), dependenciesPage(openRepository(root)))
