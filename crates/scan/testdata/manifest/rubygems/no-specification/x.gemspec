puts 'nothing'
