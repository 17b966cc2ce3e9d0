### Results of the message and artifact tools for models.

tool-message-sent = Sent to { $recipients }.
# $agent, $message
tool-message-recipient = { $agent } (message { $message })
tool-message-none = No new messages.
tool-message-more-since = there are more; to see them pass since={ $last }
tool-message-more = there are more; check again
# $message, $sender, $text
tool-message-received = [{ $message }] from { $sender }: { $text }
# $message, $sender, $other, $text
tool-message-received-reply = [{ $message }] from { $sender }, in reply to { $other }: { $text }
tool-message-artifact-stored = Stored as { $artifact }
