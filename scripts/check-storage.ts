import type { Check } from './repository.ts'
import { livesBreaches, STORAGE_PAGE, storagePage } from './storage/storage-page.ts'

/** Every table says how long its rows are there, and the page of all tables is the one that is committed. */
export const checkStorage: Check = (repository) => [
  ...livesBreaches(repository),
  ...(repository.files.includes(STORAGE_PAGE) && repository.read(STORAGE_PAGE) === storagePage(repository)
    ? []
    : [`${STORAGE_PAGE}: not as the migrations are; npm run generate writes it anew`]),
]
