/** What the address of an entry is sealed for. @param id of the entry */
export const emailPlace = (id: string): string => `waitlist_entries/${id}/email`
